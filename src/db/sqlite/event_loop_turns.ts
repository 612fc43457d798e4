import { afterPendingIo } from "../../runtime/event_loop.ts";

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
