import type { Connection } from "../../db/driver.ts";
import { type Key, keyId, keyOf } from "../../plan/key.ts";
import { Problem } from "../../problem/problem.ts";
import type { Row } from "../../schema/table_info.ts";
import type { OperationCall, ResourceCall } from "../model/operation.ts";
import { primaryReadConnection } from "../read/limited_reads.ts";
import { inTransaction, type WriteConnection } from "./transaction/in_transaction.ts";
import {
  deletionLock,
  type MatchingRows,
  readByKeys,
  readMatching,
  type RowsByKey,
} from "./read_rows_to_write.ts";
import type { HookedRow } from "./run_hooks.ts";

export interface MatchingWrite<Values> {
  readonly matching: MatchingRows;
  /** The new values of each row if there is no before-hook. Null for a delete. */
  readonly values: Values;
  readonly hook: ((row: HookedRow) => Promise<Values>) | null;
  write(rows: readonly LockedRow<Values>[], connection: WriteConnection): Promise<number>;
}

export interface LockedRow<Values> {
  readonly current: Row;
  readonly values: Values;
}

/** Finds rows and runs hooks before the transaction, because it blocks other writes on SQLite. */
export async function writeMatchingRows<Values>(
  batch: MatchingWrite<Values>,
  call: OperationCall<number>,
): Promise<number> {
  const { debit } = call.request;
  const rows = await findRows(batch, call);
  let count = 0;
  try {
    return await inTransaction(call, async (connection) => {
      const locked = await lockRows(batch, rows, call, connection);
      count = locked.length;
      return await batch.write(locked, connection);
    });
  } finally {
    debit.refundExcess(count);
  }
}

interface FoundRow<Values> {
  readonly key: Key;
  readonly values: Values;
}

async function findRows<Values>(
  { matching, values, hook }: MatchingWrite<Values>,
  call: ResourceCall,
): Promise<readonly FoundRow<Values>[]> {
  const { table } = call.resource;
  const columns = table.primaryKey;
  const rows = await readMatching(
    { ...matching, columns },
    call.resource,
    primaryReadConnection(call),
  );
  await call.request.debit.charge(rows.length);
  const keys = rows.map((row) => keyOf(row, table));
  if (hook === null) return keys.map((key) => ({ key, values }));
  const currentOf = currentRows(keys, matching, call);
  const found: FoundRow<Values>[] = [];
  for (const key of keys) {
    try {
      found.push({ key, values: await hook({ key, current: () => currentOf(key) }) });
    } catch (error) {
      if (!(error instanceof RowGone)) throw error;
    }
  }
  return found;
}

/** Thrown if a before-hook reads a row that the filter no longer matches. The row is skipped. */
class RowGone extends Problem {
  constructor() {
    super("conflict", "Cannot write this row: it has changed since it was found");
  }
}

/** Returns a function that reads the row of a key. Its first call reads the rows of all `keys`. */
function currentRows(
  keys: readonly Key[],
  { where }: MatchingRows,
  call: ResourceCall,
): (key: Key) => Promise<Row> {
  const { resource, resource: { table } } = call;
  let reading: Promise<RowsByKey> | null = null;
  return async (key) => {
    reading ??= readByKeys(
      { keys, where, columns: resource.stored },
      resource,
      primaryReadConnection(call),
    );
    const row = (await reading).get(keyId(key, table));
    if (row === undefined) throw new RowGone();
    return row;
  };
}

async function lockRows<Values>(
  { matching: { where, columns }, values: written }: MatchingWrite<Values>,
  found: readonly FoundRow<Values>[],
  { resource }: ResourceCall,
  connection: Connection,
): Promise<readonly LockedRow<Values>[]> {
  const keys = found.map(({ key }) => key);
  const lock = written === null ? deletionLock(resource) : { lock: true as const };
  const rows = await readByKeys({ keys, where, columns, ...lock }, resource, connection);
  return found.flatMap(({ key, values }) => {
    const current = rows.get(keyId(key, resource.table));
    return current === undefined ? [] : [{ current, values }];
  });
}
