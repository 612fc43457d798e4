import { parseCreateTable } from "../../../sql/statements/parse_create_table.ts";
import type { Connection } from "../../../db/driver.ts";
import { cell, selectNamed } from "../../../db/named_columns.ts";
import { parsedShape } from "../../../db/migrations/compare/parsed_shape.ts";
import type {
  ExistingShapes,
  TableName,
  TableShape,
} from "../../../db/migrations/compare/table_shape.ts";

/** Reads the shapes of a SQLite file's tables from their CREATE statements. */
export async function readSqliteShapes(
  connection: Connection,
  names: readonly TableName[],
): Promise<ExistingShapes> {
  const found = await selectNamed(
    connection,
    {
      type: cell.text("type"),
      name: cell.text("name"),
      table: cell.text("lower(tbl_name)"),
      sql: cell.text("sql"),
    },
    `FROM main.sqlite_schema WHERE type IN ('table', 'index', 'view') AND sql IS NOT NULL
     ORDER BY rowid`,
  );
  const wanted = new Set(names.map(({ name }) => name.toLowerCase()));
  const asked = found.filter(({ type, table }) => type !== "index" && wanted.has(table));
  const isTable = ({ type, sql }: { type: string; sql: string }) =>
    type === "table" && !/^\s*CREATE\s+VIRTUAL\b/i.test(sql);
  const keyOf = (table: string) => {
    const target = found.find((one) => isTable(one) && one.table === table.toLowerCase());
    return target === undefined ? [] : declaredKey(target.sql);
  };
  return {
    tables: asked.filter(isTable).map(({ name, table, sql }): TableShape =>
      parsedShape({
        ...{ schema: null, name, createTable: sql, keyOf },
        createIndexes: found.filter((one) => one.type === "index" && one.table === table)
          .map(({ sql }) => sql),
      })
    ),
    others: asked.filter((one) => !isTable(one)).map(({ name }) => ({ schema: null, name })),
  };
}

function declaredKey(createTable: string): readonly string[] {
  for (const { constraints } of parseCreateTable(createTable).definitions) {
    for (const one of constraints) if (one.kind === "key") return one.columns;
  }
  return [];
}
