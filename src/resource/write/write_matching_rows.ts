import type { Connection } from "../../db/driver.ts";
import { type Key, keyId, keyOf } from "../../plan/key.ts";
import { Problem } from "../../problem/problem.ts";
import type { Row } from "../../schema/table_info.ts";
import type { OperationCall, ResourceCall } from "../operation.ts";
import { inTransaction } from "./in_transaction.ts";
import { type MatchingRows, readByKeys, readMatching } from "./read_rows_to_write.ts";

/** A write of all rows that a filter matches: which rows, and how they are written. */
export interface MatchingWrite<Values> {
  readonly matching: Omit<MatchingRows, "lock">;
  /** The values that each row takes, where no before-hook runs; null for a delete. */
  readonly values: Values;
  /** Runs the before-hook of a row, which gives the row's values; null without a hook. */
  readonly hook: ((key: Key) => Promise<Values>) | null;
  /** Writes to the rows, which are locked, and gives their number. */
  write(rows: readonly LockedRow<Values>[], connection: Connection): Promise<number>;
}

/**
 * A matching row that is locked for the write, as far as it was read, and the values that it shall
 * take.
 */
export interface LockedRow<Values> {
  readonly current: Row;
  readonly values: Values;
}

const maxTries = 3;

/**
 * Writes all rows that a filter matches: runs their before-hooks, then locks and writes them in one
 * transaction. Each row is debited, but not inside the transaction: a debit may wait for seconds,
 * and on SQLite all other writes would wait with it. A transaction that finds more rows than are
 * debited changes nothing; the others are debited after it, and it runs again.
 */
export async function writeMatchingRows<Values>(
  batch: MatchingWrite<Values>,
  call: OperationCall<number>,
): Promise<number> {
  const { debit } = call.request;
  const hooked = await runBeforeHooks(batch, call);
  for (let attempt = 1; attempt <= maxTries; attempt++) {
    let count = 0;
    try {
      return await inTransaction(call, async (connection) => {
        const rows = await lockRows(batch, hooked, call, connection);
        count = rows.length;
        if (!debit.covers(count)) throw new Undebited();
        return await batch.write(rows, connection);
      });
    } catch (error) {
      if (!(error instanceof Undebited)) throw error;
    } finally {
      debit.refundExcess(count);
    }
    if (attempt < maxTries) await debit.charge(count);
  }
  throw new Problem("conflict", "Cannot write this batch: its filter kept matching more rows");
}

/** Ends a transaction that has changed nothing yet. */
class Undebited extends Error {}

/** A row that the before-hook has run for. */
interface HookedRow<Values> {
  readonly key: Key;
  readonly values: Values;
}

/** Null without a hook: then the rows are at most counted, so that their debit seldom falls short. */
async function runBeforeHooks<Values>(
  { matching, hook }: MatchingWrite<Values>,
  { resource, request: { debit } }: ResourceCall,
): Promise<readonly HookedRow<Values>[] | null> {
  const { table, driver } = resource;
  if (hook === null && debit.covers(matching.limit)) return null;
  const rows = await readMatching({ ...matching, columns: table.primaryKey }, resource, driver);
  await debit.charge(rows.length);
  if (hook === null) return null;
  const hooked: HookedRow<Values>[] = [];
  for (const row of rows) {
    const key = keyOf(row, table);
    hooked.push({ key, values: await hook(key) });
  }
  return hooked;
}

/** The matching rows, locked; with a hook only those that it has run for. */
async function lockRows<Values>(
  { matching, values }: MatchingWrite<Values>,
  hooked: readonly HookedRow<Values>[] | null,
  { resource }: ResourceCall,
  connection: Connection,
): Promise<readonly LockedRow<Values>[]> {
  if (hooked === null) {
    const rows = await readMatching({ ...matching, lock: true }, resource, connection);
    return rows.map((current) => ({ current, values }));
  }
  const { where, columns } = matching;
  const keys = hooked.map(({ key }) => key);
  const rows = await readByKeys({ keys, where, columns, lock: true }, resource, connection);
  return hooked.flatMap(({ key, values }) => {
    const current = rows.get(keyId(key, resource.table));
    return current === undefined ? [] : [{ current, values }];
  });
}
