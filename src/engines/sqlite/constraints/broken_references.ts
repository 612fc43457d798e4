import { databaseDefault, incrementedValue, keepStoredValue } from "../../../plan/plan.ts";
import type { ColumnInfo, ForeignKey, TableInfo } from "../../../schema/table_info.ts";
import { identifier, join, sql, tableName, toStatement } from "../../../sql/fragment.ts";
import type { Driver } from "../../../db/driver.ts";
import type { RowValues } from "../../../db/engine/constraints_engine.ts";

/** Returns the columns of a row's broken foreign keys, if the engine names no violated key. */
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

/** Returns null if a value is unknown or NULL. A NULL refers to nothing. */
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
