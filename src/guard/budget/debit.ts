import type { OperationProtection } from "../operation_protection.ts";

export interface EmbeddedItems {
  readonly protection: OperationProtection;
  readonly count: number;
}

export interface Debit {
  /**
   * Charges for items that are not paid yet, and checks the requirements of rows of other
   * resources. Throws a 428 or 429, so call it before anything is written. Can wait for the store,
   * a hook or a CAPTCHA provider, so never call it in a transaction.
   */
  charge(items: number, embedded?: readonly EmbeddedItems[]): void | Promise<void>;
  refundExcess(items: number): void;
}

export const noDebit: Debit = { charge() {}, refundExcess() {} };
