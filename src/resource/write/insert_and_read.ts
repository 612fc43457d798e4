import { allRows } from "../../filter/filter.ts";
import type { Connection } from "../../db/driver.ts";
import { type Assignments, databaseDefault } from "../../plan/plan.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";
import { readByKeys } from "./read_rows_to_write.ts";

/**
 * Inserts rows into a table on which a Postgres rule prevents RETURNING, and reads them by keys
 * that are generated first. A row that the rule has stored elsewhere, or under another key, is not
 * returned.
 */
export async function insertAndRead(
  rows: readonly Assignments[],
  resource: Resource,
  connection: Connection,
): Promise<readonly Row[]> {
  const { table, reader } = resource;
  const read: Row[] = [];
  for (const given of rows) {
    const values = new Map(given);
    for (const column of table.primaryKey) {
      const value = values.get(column) ?? databaseDefault;
      if (value === databaseDefault) {
        values.set(column, await nextKey(column, resource, connection));
      }
    }
    const columns = [...values.keys()];
    const plan = { kind: "insert" as const, table, columns, rows: [values], returning: [] };
    const { text, values: bound } = reader.compile(plan);
    // Without a plan, a driver that records writes does not add RETURNING to this statement.
    await connection.query({ text, values: bound });
    const keys = [table.primaryKey.map((column) => values.get(column))];
    const found = await readByKeys(
      { keys, where: allRows, columns: resource.stored },
      resource,
      connection,
    );
    read.push(...found.values());
  }
  return read;
}

/** Returns the next value that the database's default for a key column generates. */
async function nextKey(
  column: ColumnInfo,
  { reader }: Resource,
  connection: Connection,
): Promise<unknown> {
  const source = column.default;
  if (source?.kind !== "database" || source.sql === null) {
    const message = `Cannot create: ${column.name} is required, as a rule of the table hides it`;
    throw new Problem("validation-error", message);
  }
  // This SQL comes from the database's catalog, not from a request.
  const { rows } = await connection.query({ text: `SELECT ${source.sql}`, values: [] });
  return reader.toRows(rows, [column])[0]?.[column.name];
}
