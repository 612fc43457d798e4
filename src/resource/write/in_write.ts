import type { Connection } from "../../db/driver.ts";
import { retryOnConflict } from "../../db/transact.ts";
import type { OperationCall, WriteCall } from "../operation_call.ts";
import { inTransaction } from "./in_transaction.ts";

/**
 * Runs a write in a transaction where one statement depends on another: a row to look at first, a
 * scope to hold the result against, a hook, an answer to store. A lone statement is a transaction by itself.
 */
export function inWrite<T>(
  write: WriteCall & OperationCall<T>,
  afterHook: "onAfterCreate" | "onAfterUpdate" | "onAfterDelete",
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const { grant, resource, record } = write;
  const isAlone = record === null && grant.rows.kind === "all" && grant.visible.kind === "all" &&
    resource.etag === null && resource.hooks[afterHook] === undefined;
  return isAlone
    ? retryOnConflict(resource.driver, resource.runtime, work)
    : inTransaction(write, work);
}
