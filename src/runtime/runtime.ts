import type { Observer } from "./observation.ts";

/** Time, as the service sees it. A test moves it by hand. */
export interface Clock {
  /** Milliseconds since 1970, may jump. */
  now(): number;
  /** Milliseconds of a clock that never jumps. */
  elapsedMs(): number;
  /** Runs `work` once after `delayMs`; the answer cancels it. A timer never keeps the process alive. */
  after(delayMs: number, work: () => void): () => void;
}

/** Chance, as the service sees it. */
export interface Random {
  /** `length` unpredictable bytes. */
  bytes(length: number): Uint8Array;
}

/** Everything borrowed from the world, handed in so that a test can replace it. */
export interface Runtime {
  /** Time. */
  readonly clock: Clock;
  /** Chance. */
  readonly random: Random;
  /** Where to say what was noticed. */
  readonly observe: Observer;
  /** A variable of the environment the process was started with. */
  environment(name: string): string | undefined;
}
