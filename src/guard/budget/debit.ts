import type { OperationProtection } from "../operation_protection.ts";

/** Items of a request that belong to another resource, with the protection of that resource. */
export interface EmbeddedItems {
  readonly protection: OperationProtection;
  readonly count: number;
}

/** Charges the budget of a request once its operation knows the number of items. */
export interface Debit {
  /**
   * Charges for the unpaid items, and enforces the gates of embedded items. Throws a 428 or 429,
   * and is therefore called before anything is written. It may wait for the store, a hook or a
   * CAPTCHA provider, and is therefore never called inside a transaction.
   */
  charge(items: number, embedded?: readonly EmbeddedItems[]): void | Promise<void>;
  /** Refunds the charge for all items beyond this number. */
  refundExcess(items: number): void;
}

/** The debit of operations that cost nothing. */
export const noDebit: Debit = {
  charge() {},
  refundExcess() {},
};
