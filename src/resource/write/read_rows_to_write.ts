import type { Connection } from "../../db/driver.ts";
import { fetchRows } from "../../db/rows.ts";
import { and, type Filter } from "../../filter/filter.ts";
import { chunksOf, compareKeys, type Key, keyId, keyOf, keysFilter } from "../../plan/key.ts";
import type { ReadPlan } from "../../plan/plan.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo, Row, TableInfo } from "../../schema/table_info.ts";
import type { Resource } from "../define/resource.ts";

/** Rows by {@link keyId}. */
export type RowsByKey = ReadonlyMap<string, Row>;

/** Which rows to read by key, and what of them. */
export interface KeyedRows {
  readonly keys: readonly Key[];
  readonly where: Filter;
  /** The key's columns among them. */
  readonly columns: readonly ColumnInfo[];
  /** Whether they stay as they are until the transaction ends. */
  readonly lock?: true;
}

/** Those of the rows with these keys that the condition holds for. */
export async function readByKeys(
  { keys, where, columns, lock }: KeyedRows,
  resource: Resource,
  connection: Connection,
): Promise<RowsByKey> {
  const { table, reader } = resource;
  const found = new Map<string, Row>();
  // Two batches that lock rows in the same order never wait for each other in a circle.
  const sorted = keys.length < 2 ? keys : keys.toSorted((a, b) => compareKeys(a, b, table));
  for (const some of chunksOf(sorted, keysPerStatement(resource))) {
    const condition = and(where, keysFilter(some, table));
    const plan = { ...readPlan(table, columns, condition), ...(lock === true ? { lock } : {}) };
    for (const row of (await fetchRows(connection, plan, reader)).rows) {
      found.set(keyId(keyOf(row, table), table), row);
    }
  }
  return found;
}

/** What a batch by filter is about. */
export interface MatchingRows extends Pick<KeyedRows, "where" | "columns" | "lock"> {
  readonly limit: number;
}

/**
 * The rows that a batch by filter is about, in the order of their keys. Throws a 400 when there are
 * more than `limit`, which it finds out without reading more than one row too many.
 */
export async function readMatching(
  { where, columns, limit, lock }: MatchingRows,
  { table, reader }: Resource,
  connection: Connection,
): Promise<readonly Row[]> {
  const read = { ...readPlan(table, columns, where), limit: limit + 1 };
  const { rows } = await fetchRows(connection, lock === true ? { ...read, lock } : read, reader);
  if (rows.length > limit) throw batchTooLarge(limit, "its filter matches more rows");
  return rows;
}

/** How many keys fit into one statement beside the values of a scope and of a change. */
export function keysPerStatement({ table, driver }: Resource): number {
  return Math.max(1, Math.floor(driver.dialect.maxValues / 2 / table.primaryKey.length));
}

/** A batch is too large; nothing of it was done. */
export function batchTooLarge(limit: number, what: string): Problem {
  return new Problem(
    "batch-limit-exceeded",
    `Cannot write this batch: ${what} than the ${limit} that are allowed`,
    { details: { limit } },
  );
}

function readPlan(table: TableInfo, columns: readonly ColumnInfo[], where: Filter): ReadPlan {
  const order = table.primaryKey.map((column) => ({ column, descending: false }));
  return { kind: "read", table, columns, where, order, after: null, limit: null };
}
