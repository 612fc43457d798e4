import { setImmediate } from "node:timers";
import type { Clock } from "./runtime.ts";

/**
 * Waits, and keeps the process alive. A timer of the {@link Clock} does not keep it alive. It is
 * for waits in which nothing else keeps the process alive, such as between two attempts to listen.
 */
export function sleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

/** Keeps the process alive until the returned function is called. */
export function keepAlive(): () => void {
  const timer = setInterval(() => {}, 2 ** 30);
  return () => clearInterval(timer);
}

/**
 * Runs `work` once the event loop has handled the I/O that is ready. A microtask would run before
 * pending requests are read, and a timer a millisecond too late.
 */
export const afterPendingIo: (work: () => void) => unknown = setImmediate;

/** Waits for other requests if they are due. Long work calls it between two parts. */
export type YieldTurn = () => Promise<void>;

/** The longest time that long work delays other requests, in milliseconds. */
const maxTurnMs = 5;

/**
 * Creates a {@link YieldTurn} for one piece of work. While any work is ready to run, Deno polls its
 * sockets only occasionally. That delayed other requests by 30 ms during an export. Only a real
 * timer lets other requests run. A timer costs a millisecond, so it is set only once a turn is
 * over.
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
 * Counts turns of the event loop while work is watched. Work that used only SQLite is synchronous,
 * and ends in the turn in which it began.
 */
export class EventLoopTurns {
  #count = 0;
  #isScheduled = false;

  /** The number of turns that have begun. */
  get count(): number {
    return this.#count;
  }

  /** Counts the next turn. Returns the current count. */
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
