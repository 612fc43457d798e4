import type { Observer } from "./observation.ts";

/** The clock of a runtime. Tests replace it by a clock that they set. */
export interface Clock {
  /** Returns milliseconds since 1970. The value can jump when the system clock is set. */
  now(): number;
  /** Returns milliseconds of a monotonic clock. */
  elapsedMs(): number;
  /** Runs `work` after `delayMs`, unless the process exits. Returns a function that cancels it. */
  after(delayMs: number, work: () => void): () => void;
}

/** The source of random bytes in a runtime. */
export interface Random {
  /** Returns `length` unpredictable bytes. */
  bytes(length: number): Uint8Array;
}

/**
 * Runs work by a cron schedule of five fields, in UTC, until the returned function is called. A
 * host that stops idle processes starts a process for the work.
 */
export type Cron = (name: string, schedule: string, work: () => Promise<void>) => () => void;

/** The runtime of a service: clock, random bytes, observer and environment. Tests replace it. */
export interface Runtime {
  /** The clock. */
  readonly clock: Clock;
  /** The source of random bytes. */
  readonly random: Random;
  /** Receives observations. */
  readonly observe: Observer;
  /** Returns an environment variable of the process. */
  environment(name: string): string | undefined;
  /** The cron of the platform. Absent if the platform has none. */
  readonly cron?: Cron | undefined;
  /**
   * Returns true if another program has changed the tables, and an app with the new tables has
   * replaced this app. Absent if the tables of an app never change after its start.
   */
  readonly tablesChanged?: (() => Promise<boolean>) | undefined;
}
