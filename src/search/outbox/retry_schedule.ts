/** When work of the search outbox that failed is tried again. */
export interface RetrySchedule {
  /** The delay after the n-th attempt is this times 2 to the power of n. */
  readonly backoffBaseMs: number;
  /** After so many attempts the entry is dead. */
  readonly maxAttempts: number;
}

/** How long to wait after so many failed attempts. */
export function retryDelayMs(attempts: number, { backoffBaseMs }: RetrySchedule): number {
  return Math.min(maxDelayMs, backoffBaseMs * 2 ** attempts);
}

const maxDelayMs = 300_000;
