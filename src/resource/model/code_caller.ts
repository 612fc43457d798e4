import type { User } from "../../auth/user.ts";
import type { DatabaseHandle } from "../../db/database_handle.ts";
import type { Driver } from "../../db/driver.ts";
import type { SqlPlans } from "../../db/template/sql_plan.ts";

export interface CodeCaller {
  /** The user, or null for an anonymous caller and for the system. */
  readonly user: User | null;
  readonly isSystem: boolean;
  /** The request during which a hook or a procedure makes the calls, or null without a request. */
  readonly raw: Request | null;
  /** The number of hooks and procedures through which nested calls have led to this call. */
  readonly depth: number;
  /** The open transaction that the calls join, or null if there is none. */
  readonly within: OpenTransaction | null;
}

/** An open transaction in which calls by server-side code run, one after the other. */
export interface OpenTransaction {
  readonly base: Driver;
  /**
   * Runs `work` within the transaction. If `work` throws, only its changes are rolled back. Throws
   * a plain Error after the transaction. `isSystem` means that `work` has the service's rights.
   */
  join<T>(work: (part: TransactionPart) => Promise<T>, isSystem?: boolean): Promise<T>;
}

export interface TransactionPart {
  readonly driver: Driver;
  /** The transaction that nested calls of this part must join. */
  readonly within: OpenTransaction;
  /** Returns the handle with which hooks and procedures run SQL statements. */
  handle(plans: SqlPlans): DatabaseHandle;
}
