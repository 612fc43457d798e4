import type { OperationProtection } from "../operation_protection.ts";

/** Items of a request that are those of another resource, with its protection for them. */
export interface EmbeddedItems {
  readonly protection: OperationProtection;
  readonly count: number;
}

/**
 * The debit of a request: how its operation charges the budget once it knows the number of its
 * items.
 */
export interface Debit {
  /**
   * Charges for the items that are not paid for yet, and requires what the gates of embedded ones
   * require. Throws a 428 or 429, so it is called before
   * anything is written. It may wait for the store, a hook or a CAPTCHA provider, so it is never
   * called inside a transaction.
   */
  charge(items: number, embedded?: readonly EmbeddedItems[]): void | Promise<void>;
  /** Refunds what was charged for more items than these. */
  refundExcess(items: number): void;
}

/** The debit of operations that cost nothing. */
export const noDebit: Debit = {
  charge() {},
  refundExcess() {},
};
