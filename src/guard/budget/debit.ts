/** How a request pays for what it turns out to be about. */
export interface Debit {
  /** Whether so many items are paid for already, or cost nothing. */
  covers(items: number): boolean;
  /**
   * Pays for all but those that are paid for. Throws a 428 or 429, so that it comes before anything
   * is written. It may wait for a store, a hook or a CAPTCHA provider, so that no transaction may
   * wait for it.
   */
  charge(items: number): void | Promise<void>;
  /** Takes back what was paid for more items than these. */
  refundExcess(items: number): void;
}

/** Where nothing has a price. */
export const noDebit: Debit = {
  covers: () => true,
  charge() {},
  refundExcess() {},
};
