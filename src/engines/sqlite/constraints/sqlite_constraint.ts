import type { ColumnInfo, ForeignKey, TableInfo } from "../../../schema/table_info.ts";
import { columnsOfCheck } from "../sql/parse_checks.ts";
import { parseCreateIndex } from "../../../sql/statements/parse_create_index.ts";
import type { DatabaseError } from "../../../db/database_error.ts";
import type { Connection, Driver } from "../../../db/driver.ts";
import { databaseDefault, incrementedValue, keepStoredValue } from "../../../plan/plan.ts";
import { identifier, join, sql, tableName, toStatement } from "../../../sql/fragment.ts";
import type { RowValues } from "../../../db/engine/engine.ts";

export async function columnsViolatedOnSqlite(
  { kind, constraint }: DatabaseError,
  table: TableInfo,
  connection: Connection,
): Promise<readonly string[]> {
  const failed = constraint?.name ?? null;
  if (failed === null) return [];
  const columns = table.columns.map(({ dbName }) => dbName);
  if (kind === "check") {
    const created = await createStatement("table", table.name, table, connection);
    return created === "" ? [] : columnsOfCheck(created, failed, columns);
  }
  const [, index] = /^index '([^]*)'$/.exec(failed) ?? [];
  if (index === undefined) return listedColumns(failed, table);
  // For an index with expressions, SQLite reports only the index, so its statement is parsed.
  const created = await createStatement("index", index, table, connection);
  return created === "" ? [] : parseCreateIndex(created, table.name, columns).columns;
}

function listedColumns(failed: string, { name }: TableInfo): readonly string[] {
  const prefix = `${name}.`.toLowerCase();
  // SQLite does not quote names: a name with `, ` is split, and its parts match no column.
  return failed.split(", ").flatMap((part) =>
    part.toLowerCase().startsWith(prefix) ? [part.slice(prefix.length)] : []
  );
}

async function createStatement(
  type: "table" | "index",
  name: string,
  table: TableInfo,
  connection: Connection,
): Promise<string> {
  const { rows: [row] } = await connection.query({
    text: `SELECT sql FROM sqlite_schema WHERE type = ? AND name = ? COLLATE NOCASE
      AND tbl_name = ? COLLATE NOCASE`,
    values: [type, name, table.name],
  });
  return String(row?.[0] ?? "");
}

/** Returns the columns of a row's broken foreign keys. SQLite does not name the violated key. */
export async function columnsOfBrokenReferences(
  values: RowValues,
  table: TableInfo,
  driver: Driver,
): Promise<readonly ColumnInfo[]> {
  const broken = new Set<ColumnInfo>();
  for (const foreignKey of table.foreignKeys) {
    const columns = referencingColumns(foreignKey, values, table);
    if (columns === null || await isThere(foreignKey, columns, values, driver)) continue;
    for (const column of columns) broken.add(column);
  }
  return [...broken];
}

function referencingColumns(
  { columns }: ForeignKey,
  values: RowValues,
  table: TableInfo,
): readonly ColumnInfo[] | null {
  const found = columns.flatMap((name) => {
    const column = table.columns.find(({ dbName }) => dbName === name);
    const value = column === undefined ? null : values.get(column) ?? null;
    const isKnown = value !== null && value !== databaseDefault && value !== incrementedValue &&
      value !== keepStoredValue;
    return column !== undefined && isKnown ? [column] : [];
  });
  return found.length === columns.length ? found : null;
}

async function isThere(
  { schema, table, references }: ForeignKey,
  columns: readonly ColumnInfo[],
  values: RowValues,
  driver: Driver,
): Promise<boolean> {
  const { dialect } = driver;
  const terms = columns.map((column, index) =>
    sql`${identifier(references[index] ?? "")} = ${dialect.encode(values.get(column), column)}`
  );
  const target = tableName({ schema, name: table });
  const query = sql`SELECT 1 FROM ${target} WHERE ${join(terms, " AND ")} LIMIT 1`;
  const { rows } = await driver.query(toStatement(query, dialect.placeholder));
  return rows.length > 0;
}
