import type { Connection } from "../../db/driver.ts";
import { transact } from "../../db/transact.ts";
import type { OperationCall } from "../operation_call.ts";

/**
 * Runs the work of an operation in a transaction, up to three times, and stores its answer there
 * where one has to be stored.
 */
export function inTransaction<Outcome>(
  { resource: { driver, runtime }, record }: OperationCall<Outcome>,
  work: (connection: Connection) => Promise<Outcome>,
): Promise<Outcome> {
  if (record === null) return transact(driver, runtime, work);
  return transact(driver, runtime, async (connection) => {
    const outcome = await work(connection);
    await record(outcome, connection);
    return outcome;
  });
}
