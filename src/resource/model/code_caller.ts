import type { User } from "../../auth/user.ts";
import type { DatabaseHandle } from "../../db/database_handle.ts";
import type { Driver } from "../../db/driver.ts";
import type { SqlPlans } from "../../db/template/sql_plan.ts";

/** Who calls operations from code, and from where. */
export interface CodeCaller {
  /** Null for an anonymous caller, and for the system. */
  readonly user: User | null;
  readonly isSystem: boolean;
  /** The request that hooks and procedures call for; null outside of any. */
  readonly raw: Request | null;
  /** How many calls have led to this one, each from a hook or a procedure of the one before. */
  readonly depth: number;
  /** The open transaction that its calls join; null for none. */
  readonly within: OpenTransaction | null;
}

/** An open transaction that calls from code join, one after the other. */
export interface OpenTransaction {
  /** The driver of its database. */
  readonly base: Driver;
  /**
   * Runs `work` as a part of the transaction, which is rolled back alone where it throws, with the
   * transaction as its driver. Throws a plain Error once the transaction has ended.
   */
  join<T>(work: (part: TransactionPart) => Promise<T>): Promise<T>;
}

/** A part of an open transaction. */
export interface TransactionPart {
  readonly driver: Driver;
  /** For calls from what runs within the part. */
  readonly within: OpenTransaction;
  /** Returns the object with which hooks and procedures run statements. */
  handle(plans: SqlPlans): DatabaseHandle;
}
