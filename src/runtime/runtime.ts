import type { Observer } from "./observation.ts";

/** The source of time in a runtime. A test moves it by hand. */
export interface Clock {
  /** Milliseconds since 1970; may jump when the system clock is set. */
  now(): number;
  /** Milliseconds of a monotonic clock. */
  elapsedMs(): number;
  /** Runs `work` once after `delayMs`; returns the cancellation. Does not keep the process alive. */
  after(delayMs: number, work: () => void): () => void;
}

/** The source of random bytes in a runtime. */
export interface Random {
  /** `length` unpredictable bytes. */
  bytes(length: number): Uint8Array;
}

/**
 * Runs work by a schedule of five fields, in UTC, until the function that it returns is called.
 * Hosts that stop idle processes start one for it.
 */
export type Cron = (name: string, schedule: string, work: () => Promise<void>) => () => void;

/**
 * The runtime of a service: time, random bytes, the observer and the environment, handed in so that
 * a test can replace them.
 */
export interface Runtime {
  /** Time. */
  readonly clock: Clock;
  /** Random bytes. */
  readonly random: Random;
  /** Receives observations. */
  readonly observe: Observer;
  /** An environment variable of the process. */
  environment(name: string): string | undefined;
  /** The cron of the platform; absent where it has none. */
  readonly cron?: Cron | undefined;
  /**
   * Returns true if another program has changed the tables and another app serves them as they are
   * now; absent where the tables of an app stay those of its start.
   */
  readonly tablesChanged?: (() => Promise<boolean>) | undefined;
}
