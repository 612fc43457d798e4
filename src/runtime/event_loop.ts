import { setImmediate } from "node:timers";
import type { Clock } from "./runtime.ts";

/**
 * Waits, and keeps the process alive, unlike a timer of the {@link Clock}. Used when nothing else
 * keeps the process alive, for example between two attempts to open a port.
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
 * Runs `work` after the event loop has handled all I/O that is ready. A microtask would run before
 * pending requests are read. A timer would run a millisecond later than necessary.
 */
export const runAfterPendingIo: (work: () => void) => unknown = setImmediate;

/** Lets other requests run if the current work has taken long. Long work calls it repeatedly. */
export type YieldTurn = () => Promise<void>;

/** The maximum time for which long work delays other requests, in milliseconds. */
const maxTurnMs = 5;

/**
 * Creates a {@link YieldTurn} for one piece of work. While there is work to run, Deno polls its
 * sockets only occasionally. During an export, this delayed other requests by 30 ms. Only a wait
 * for a real timer lets Deno handle other requests. A timer costs a millisecond, so it is used only
 * once per `maxTurnMs`.
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
 * Counts turns of the event loop, to find out if work was synchronous: then it ended in the turn in
 * which it began, like work that used only SQLite.
 */
export class EventLoopTurnCounter {
  #count = 0;
  #isScheduled = false;

  get count(): number {
    return this.#count;
  }

  /** Starts to count the next turn. Returns the current count. */
  watch(): number {
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      runAfterPendingIo(() => {
        this.#count++;
        this.#isScheduled = false;
      });
    }
    return this.#count;
  }
}
