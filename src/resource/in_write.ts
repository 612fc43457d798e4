import type { Connection } from "../db/driver.ts";
import { retrying, transact } from "../db/transact.ts";
import type { Write } from "./call.ts";

/**
 * Runs a write in a transaction where one statement depends on another: a row to look at first, a
 * scope to hold the result against, a hook. A lone statement is a transaction by itself.
 */
export function inWrite<T>(
  write: Write,
  afterHook: "onAfterCreate" | "onAfterUpdate" | "onAfterDelete",
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const { grant, resource } = write;
  const isAlone = grant.rows.kind === "all" && grant.visible.kind === "all" &&
    resource.etag === null && resource.hooks[afterHook] === undefined;
  return isAlone ? retrying(resource.driver, work) : transact(resource.driver, work);
}
