import type { OperationProtection } from "../operation_protection.ts";

/** Items in a request's body that belong to another resource, with that resource's protection. */
export interface EmbeddedItems {
  readonly protection: OperationProtection;
  readonly count: number;
}

/** Charges a request for its items, as soon as their number is known. */
export interface Debit {
  /**
   * Charges for items that are not yet paid, and checks the gates of embedded items. Throws a 428
   * or 429, so call it before anything is written. May wait for the store, a hook or a CAPTCHA
   * provider, so never call it inside a transaction.
   */
  charge(items: number, embedded?: readonly EmbeddedItems[]): void | Promise<void>;
  /** Refunds the tokens for items in excess of this number. */
  refundExcess(items: number): void;
}

/** Charges nothing. Used for operations that are free. */
export const noDebit: Debit = {
  charge() {},
  refundExcess() {},
};
