import { setImmediate } from "node:timers";
import type { Clock } from "./runtime.ts";

/**
 * Waits, and keeps the process alive while it does, which a timer of the {@link Clock} does not:
 * for waits in which nothing else keeps it alive, as between two attempts to listen.
 */
export function sleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

/** Keeps the process alive until the function that it returns is called. */
export function keepAlive(): () => void {
  const timer = setInterval(() => {}, 2 ** 30);
  return () => clearInterval(timer);
}

/**
 * Runs `work` once the event loop has handled the I/O that is ready: a microtask would run before
 * the requests that wait to be read, a timer a millisecond too late.
 */
export const afterPendingIo: (work: () => void) => unknown = setImmediate;

/** Called between two parts of long work: waits for other requests where they are due. */
export type YieldTurn = () => Promise<void>;

/** The longest time that long work keeps other requests waiting. */
const maxTurnMs = 5;

/**
 * Makes a {@link YieldTurn} for one piece of work. While anything is left to run, Deno polls its
 * sockets only now and then, which delayed other requests by 30 ms during an export: only a real
 * timer lets them in. A timer costs a millisecond, so it is set only once a turn is over.
 */
export function createYieldTurn(clock: Clock): YieldTurn {
  let turnBeganAt = clock.elapsedMs();
  return async () => {
    if (clock.elapsedMs() - turnBeganAt < maxTurnMs) return;
    await sleep(0);
    turnBeganAt = clock.elapsedMs();
  };
}

/**
 * Counts turns of the event loop while work is watched: work that only used SQLite, which is
 * synchronous, ends in the turn in which it began.
 */
export class EventLoopTurns {
  #count = 0;
  #isScheduled = false;

  /** How many turns have begun. */
  get count(): number {
    return this.#count;
  }

  /** Counts the next turn; gives the count of now. */
  watch(): number {
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      afterPendingIo(() => {
        this.#count++;
        this.#isScheduled = false;
      });
    }
    return this.#count;
  }
}
