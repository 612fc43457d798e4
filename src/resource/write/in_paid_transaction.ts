import type { Connection } from "../../db/driver.ts";
import { Problem } from "../../problem/problem.ts";
import type { Row } from "../../schema/table_info.ts";
import { type MatchingRows, readMatching } from "./read_rows_to_write.ts";
import type { Call, OperationCall } from "../operation_call.ts";
import { inTransaction } from "./in_transaction.ts";

const tries = 3;

/** Work whose price is known only once its rows are found. */
export interface PaidWork<Found, Outcome> {
  /** Finds and locks the rows, and changes nothing. */
  find(connection: Connection): Promise<readonly Found[]>;
  change(found: readonly Found[], connection: Connection): Promise<Outcome>;
}

/**
 * Runs the work of a batch by filter in a transaction that no budget is asked in: whoever asks may
 * wait for seconds, and on SQLite all other writes would wait with it. Where more rows are found
 * than are paid for, nothing is changed, the others are paid for outside, and it begins again.
 */
export async function inPaidTransaction<Found, Outcome>(
  call: OperationCall<Outcome>,
  { find, change }: PaidWork<Found, Outcome>,
): Promise<Outcome> {
  const { debit } = call.request;
  for (let attempt = 1; attempt <= tries; attempt++) {
    let count = 0;
    try {
      return await inTransaction(call, async (connection) => {
        const found = await find(connection);
        count = found.length;
        if (!debit.covers(count)) throw new Unpaid();
        return await change(found, connection);
      });
    } catch (error) {
      if (!(error instanceof Unpaid)) throw error;
    } finally {
      debit.refundExcess(count);
    }
    if (attempt < tries) await debit.charge(count);
  }
  throw new Problem("conflict", "Cannot write this batch: its filter kept matching more rows");
}

/** The rows as they are now, not locked, and paid for. */
export async function paidMatching(
  what: MatchingRows,
  { resource, request }: Call,
): Promise<readonly Row[]> {
  const rows = await readMatching(what, resource, resource.driver);
  await request.debit.charge(rows.length);
  return rows;
}

/** Pays for them in advance, where they have a price, so that hardly ever more is found later. */
export async function payMatching(what: MatchingRows, call: Call): Promise<void> {
  if (call.request.debit.covers(what.limit)) return;
  await paidMatching({ ...what, columns: call.resource.table.primaryKey }, call);
}

/** Ends a transaction, which has changed nothing yet. */
class Unpaid extends Error {}
