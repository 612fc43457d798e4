import type { Connection } from "../../db/driver.ts";
import { transact, type TransactOptions } from "../../db/transact.ts";
import type { OperationCall, WriteCall } from "../operation.ts";

/**
 * Runs the work of an operation in a transaction, up to three times, and stores its reply there
 * where one has to be stored.
 */
export function inTransaction<Outcome>(
  { resource: { driver, runtime }, record }: OperationCall<Outcome>,
  work: (connection: Connection) => Promise<Outcome>,
  options?: Pick<TransactOptions, "isLoneStatement">,
): Promise<Outcome> {
  if (record === null) return transact(driver, runtime, work, options);
  return transact(driver, runtime, async (connection) => {
    const outcome = await work(connection);
    await record(outcome, connection);
    return outcome;
  });
}

/**
 * Whether the write of one row needs no transaction, being one statement: no row is locked before
 * it, and neither a scope nor an after-hook looks at the result.
 */
export function isLoneStatement(
  { grant, resource }: WriteCall,
  afterHook: "onAfterCreate" | "onAfterUpdate" | "onAfterDelete",
): boolean {
  return grant.rows.kind === "all" && grant.visible.kind === "all" && resource.etag === null &&
    resource.hooks[afterHook] === undefined;
}
