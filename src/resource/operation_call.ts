import type { Grant } from "../auth/authorize.ts";
import type { User } from "../auth/user.ts";
import type { Connection } from "../db/driver.ts";
import type { Key } from "../plan/key.ts";
import { type HookContext, type MaybePromise, type RowId, withinTime } from "./define/hooks.ts";
import type { ResourceRequest } from "./operation.ts";
import type { Resource } from "./define/resource.ts";

/** One request to one resource, by somebody. */
export interface ResourceCall {
  readonly resource: Resource;
  readonly request: ResourceRequest;
  readonly user: User | null;
}

/** A call of an operation, and what becomes of its outcome. */
export interface OperationCall<Outcome> extends ResourceCall {
  /**
   * Stores the answer to an outcome in the transaction that makes it true; null where nothing is
   * stored there.
   */
  readonly record: ((outcome: Outcome, connection: Connection) => Promise<void>) | null;
}

/** A call that may write, and under which right. */
export interface WriteCall extends ResourceCall {
  readonly grant: Grant;
}

/** Runs one hook with its time limit; `db` is what the hook may write with. */
export function runHook<T>(
  { resource, request, user }: ResourceCall,
  db: Connection,
  work: (context: HookContext) => MaybePromise<T>,
): Promise<T> {
  const { name, url, runtime, hookTimeoutMs } = resource;
  const context = { db, user, request: request.raw, resource: { name, url } };
  return withinTime(() => work(context), hookTimeoutMs, runtime.clock);
}

/** A key as hooks see it: a value, or a list of them. */
export function rowId(key: Key): RowId {
  // The values of a primary key are texts and numbers: `parseKey` and the database made them.
  return (key.length === 1 ? key[0] : key) as RowId;
}
