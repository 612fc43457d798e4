import type { Connection } from "../../db/driver.ts";
import { fetchRows } from "../../db/rows.ts";
import { and, type Filter } from "../../filter/filter.ts";
import {
  chunksOf,
  compareKeys,
  type Key,
  type KeyColumns,
  keyId,
  keyOf,
  keysFilter,
} from "../../plan/key.ts";
import type { ReadPlan } from "../../plan/plan.ts";
import { type AnswerBytes, countRows, shownBytes, writtenRows } from "../http/answer_bytes.ts";
import { batchTooLarge } from "./values/batch_items.ts";
import type { ColumnInfo, Row, TableInfo } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";

/** The rows that were read to be written, by {@link keyId}. */
export type RowsByKey = ReadonlyMap<string, Row>;

/** Which rows to read by key before they are written, and which columns. */
export interface KeyedRows {
  readonly keys: readonly Key[];
  /** What the keys are of, where it is not the primary key. */
  readonly by?: KeyColumns;
  readonly where: Filter;
  /** The key's columns among them. */
  readonly columns: readonly ColumnInfo[];
  /** Locks them until the transaction ends. */
  readonly lock?: true;
}

/**
 * Reads the rows to write that have these keys and that the condition holds for. Throws a 422 where
 * they have more bytes than an answer, before any is written; what is withheld from the user does not
 * count, because the refusal would show how long it is.
 */
export async function readByKeys(
  { keys, by: given, where, columns, lock }: KeyedRows,
  resource: Resource,
  connection: Connection,
): Promise<RowsByKey> {
  const { table, reader, fields, readCosts: { maxAnswerBytes: limit } } = resource;
  const bytesOf = shownBytes(columns, columns.filter((one) => fields.readable.includes(one)));
  const by = given ?? table;
  const bytes: AnswerBytes = { limit, left: limit };
  const found = new Map<string, Row>();
  // Batches that lock rows in the same order cannot deadlock.
  const sorted = keys.length < 2 ? keys : keys.toSorted((a, b) => compareKeys(a, b, by));
  for (const some of chunksOf(sorted, keysPerStatement(resource, by))) {
    const condition = and(where, keysFilter(some, by));
    const plan = { ...readPlan(table, columns, condition), ...(lock === true ? { lock } : {}) };
    const { rows, stored } = await fetchRows(connection, plan, reader);
    countRows(bytes, stored, bytesOf, writtenRows);
    for (const row of rows) found.set(keyId(keyOf(row, by), by), row);
  }
  return found;
}

/** Which rows a batch by filter reads before it writes them. */
export interface MatchingRows extends Pick<KeyedRows, "where" | "columns"> {
  readonly limit: number;
}

/**
 * Reads the rows to write that the condition holds for, in the order of their keys. Throws a 400
 * when there are more than `limit`; it reads at most one row more.
 */
export async function readMatching(
  { where, columns, limit }: MatchingRows,
  { table, reader }: Resource,
  connection: Connection,
): Promise<readonly Row[]> {
  const read = { ...readPlan(table, columns, where), limit: limit + 1 };
  const { rows } = await fetchRows(connection, read, reader);
  if (rows.length > limit) throw batchTooLarge(limit, "its filter matches more rows");
  return rows;
}

/**
 * How many keys of rows to write fit into one statement, beside the values of a scope and of a
 * change.
 */
export function keysPerStatement({ table, driver }: Resource, by: KeyColumns = table): number {
  return Math.max(1, Math.floor(driver.dialect.maxValues / 2 / by.primaryKey.length));
}

/** The plan to read rows by a condition, in the order of their keys. */
export function readPlan(
  table: TableInfo,
  columns: readonly ColumnInfo[],
  where: Filter,
): ReadPlan {
  const order = table.primaryKey.map((column) => ({ column, descending: false }));
  return { kind: "read", table, columns, where, order, after: null, limit: null };
}
