/** The delays of the retries of failed entries, and the maximum number of attempts. */
export interface RetrySchedule {
  /** Base of the delays, in milliseconds. The delay after the n-th attempt is the base × 2^n. */
  readonly backoffBaseMs: number;
  /** The number of attempts after which an entry is dead. */
  readonly maxAttempts: number;
}

/** Returns the delay after this number of failed attempts, in milliseconds. */
export function retryDelayMs(attempts: number, { backoffBaseMs }: RetrySchedule): number {
  return Math.min(maxDelayMs, backoffBaseMs * 2 ** attempts);
}

const maxDelayMs = 300_000;
