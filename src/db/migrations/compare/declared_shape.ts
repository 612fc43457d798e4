import type { TableInfo } from "../../../schema/table_info.ts";
import { createTableStatements } from "../../../sql/create_table.ts";
import type { Dialect } from "../../../sql/dialect.ts";
import { postgresTypeName } from "../../../engines/postgres/sql/type_names.ts";
import { parsedShape } from "./parsed_shape.ts";
import type { TableShape } from "./table_shape.ts";

/**
 * The shape that a declared table asks for: that of the statements which would create it, so that a
 * created table has no differences.
 */
export function declaredShape(table: TableInfo, dialect: Dialect): TableShape {
  const texts = createTableStatements(table, dialect).map(({ text }) => text);
  const [createTable = ""] = texts.filter((text) => /^\s*CREATE\s+TABLE\b/i.test(text));
  const shape = parsedShape({
    schema: table.schema,
    name: table.name,
    createTable,
    createIndexes: texts.filter((text) => /^\s*CREATE\s+(?:UNIQUE\s+)?INDEX\b/i.test(text)),
  });
  if (dialect.engine === "sqlite") return shape;
  return {
    ...shape,
    columns: shape.columns.map((column) => ({
      ...column,
      type: postgresTypeName(column.type),
      // A key is NOT NULL by itself.
      notNull: column.notNull || shape.key.includes(column.name),
    })),
  };
}
