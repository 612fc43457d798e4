import type { Connection } from "../../db/driver.ts";
import { type FetchedRows, fetchRows } from "../../db/rows.ts";
import { allRows, and, type Filter } from "../../filter/filter.ts";
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
import {
  countRowBytes,
  createRowByteCounter,
  type ResponseByteBudget,
  writtenRowsPart,
} from "../http/response_byte_budget.ts";
import { toFailedWrite } from "./refused/failed_write.ts";
import { batchTooLarge, wholeBody } from "./values/batch_items.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo, Row, TableInfo } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";
import { type Clock, createYieldTurn } from "../../runtime/runtime.ts";

export type RowsByKey = ReadonlyMap<string, Row>;

interface KeyedRows {
  readonly keys: readonly Key[];
  readonly by?: KeyColumns;
  readonly where: Filter;
  readonly columns: readonly ColumnInfo[];
  readonly lock?: true;
}

/**
 * Reads the rows with these keys that match the condition. Throws a 422 before any write if the
 * rows exceed the response limit. Ignores hidden columns: the error would reveal their lengths.
 */
export async function readByKeys(
  { keys, by: given, where, columns, lock }: KeyedRows,
  resource: Resource,
  connection: Connection,
): Promise<RowsByKey> {
  const { table, fields, readCosts: { maxAnswerBytes: limit } } = resource;
  const bytesOf = createRowByteCounter(
    columns,
    columns.filter((one) => fields.readable.includes(one)),
  );
  const by = given ?? table;
  const bytes: ResponseByteBudget = { limit, left: limit };
  const found = new Map<string, Row>();
  // Batches that lock rows in the same order cannot deadlock.
  const sorted = keys.length < 2 ? keys : keys.toSorted((a, b) => compareKeys(a, b, by));
  for (const some of chunksOf(sorted, keysPerStatement(resource, by))) {
    const condition = and(where, keysFilter(some, by));
    const plan = { ...readPlan(table, columns, condition), ...(lock === true ? { lock } : {}) };
    const { rows, stored } = await fetchNamed(plan, { keys: some, by }, resource, connection);
    countRowBytes(bytes, stored, bytesOf, writtenRowsPart);
    for (const row of rows) found.set(keyId(keyOf(row, by), by), row);
  }
  return found;
}

/** Reads rows by key. An error names the keys, because the database may reject a key's value. */
async function fetchNamed(
  plan: ReadPlan,
  { keys, by }: { readonly keys: readonly Key[]; readonly by: KeyColumns },
  resource: Resource,
  connection: Connection,
): Promise<FetchedRows> {
  try {
    return await fetchRows(connection, plan, resource.reader);
  } catch (error) {
    const valuesOf = (key: Key) => new Map(by.primaryKey.map((column, i) => [column, key[i]]));
    throw toFailedWrite(
      error,
      resource,
      () => keys.map((key) => ({ ...wholeBody, values: valuesOf(key) })),
    );
  }
}

/** Reads rows again that triggers of a view wrote, because RETURNING can differ from the view. */
export async function readAgain(
  rows: readonly Row[],
  resource: Resource,
  connection: Connection,
  write: "create" | "update",
): Promise<readonly Row[]> {
  const { table, stored: columns } = resource;
  const keys = rows.map((row) => keyOf(row, table));
  const unknown = table.primaryKey.find((_column, index) =>
    keys.some((key) => (key[index] ?? null) === null)
  );
  if (unknown !== undefined) {
    throw new Problem(
      "validation-error",
      write === "create"
        ? `Cannot create: ${unknown.name} is required, as the trigger of the view does not set it`
        : `Cannot update: the trigger of the view returns no ${unknown.name}`,
    );
  }
  const found = await readByKeys({ keys, where: allRows, columns }, resource, connection);
  return rows.map((row, index) => found.get(keyId(keys[index] ?? [], table)) ?? row);
}

/** Returns no lock for a delete in a user's database role, because a lock needs UPDATE rights. */
export function deletionLock({ identityOf, softDelete }: Resource): { readonly lock?: true } {
  return identityOf !== null && softDelete === null ? {} : { lock: true };
}

export interface MatchingRows extends Pick<KeyedRows, "where" | "columns"> {
  readonly limit: number;
}

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

/** Returns how many keys fit into half of a statement's parameters. Other values use the rest. */
export function keysPerStatement({ table, driver }: Resource, by: KeyColumns = table): number {
  return Math.max(1, Math.floor(driver.dialect.maxValues / 2 / by.primaryKey.length));
}

export function readPlan(
  table: TableInfo,
  columns: readonly ColumnInfo[],
  where: Filter,
): ReadPlan {
  const order = table.primaryKey.map((column) => ({ column, descending: false }));
  return { kind: "read", table, columns, where, order, after: null, limit: null };
}

/** The intended duration of one statement, in milliseconds. */
const sliceMs = 5;
const maxGrowth = 4;

/** Runs `work` for all items of a batch, one slice (the rows of one statement) after the other. */
export type RunInSlices = <Item>(
  items: readonly Item[],
  work: (some: readonly Item[]) => Promise<void>,
) => Promise<void>;

/** Divides a batch into statements of about 5 ms: an in-process database blocks all requests. */
export function slicesOf(resource: Resource): RunInSlices {
  const { driver, runtime: { clock } } = resource;
  const maxSize = keysPerStatement(resource);
  return driver.dialect.blocksThread ? timedSlices(maxSize, clock) : async (items, work) => {
    for (const some of chunksOf(items, maxSize)) await work(some);
  };
}

/** Sizes each slice by the duration of the previous slice. Between slices, other requests run. */
export function timedSlices(maxSize: number, clock: Clock): RunInSlices {
  const yieldTurn = createYieldTurn(clock);
  let size = 1;
  return async (items, work) => {
    for (let at = 0; at < items.length;) {
      await yieldTurn();
      const some = items.slice(at, at + size);
      const beganAt = clock.elapsedMs();
      await work(some);
      at += some.length;
      const perItemMs = (clock.elapsedMs() - beganAt) / some.length;
      const next = Math.min(maxSize, size * maxGrowth, sliceMs / perItemMs);
      size = Math.max(1, Math.floor(next));
    }
  };
}
