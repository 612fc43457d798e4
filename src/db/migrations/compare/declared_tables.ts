import type { TableInfo } from "../../../schema/table_info.ts";
import { createTableStatements } from "../../../sql/create_table.ts";
import type { Dialect } from "../../../sql/dialect.ts";
import type { ComparisonEngine } from "../../engine/migrations_engine.ts";
import type { DeclaredTable } from "./compare_tables.ts";
import { parsedShape, type TableShape } from "./table_shape.ts";

export function declaredTables(
  tables: readonly TableInfo[],
  dialect: Dialect,
  { declaredShape }: ComparisonEngine,
): readonly DeclaredTable[] {
  return tables.map((table) => ({ table, shape: declaredShape(parsedTable(table, dialect)) }));
}

function parsedTable(table: TableInfo, dialect: Dialect): TableShape {
  const statements = createTableStatements(table, dialect).map(({ text }) => text);
  const [createTable = ""] = statements.filter((text) => /^\s*CREATE\s+TABLE\b/i.test(text));
  return parsedShape({
    schema: table.schema,
    name: table.name,
    createTable,
    createIndexes: statements.filter((text) => /^\s*CREATE\s+(?:UNIQUE\s+)?INDEX\b/i.test(text)),
  });
}
