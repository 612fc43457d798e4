import { FairQueue } from "../runtime/queues/fair_queue.ts";
import type { Clock } from "../runtime/runtime.ts";
import { DatabaseError } from "./database_error.ts";
import type { ReadLimits } from "./driver.ts";
import { type ReadEnd, watchRead } from "./watch_read.ts";

/**
 * So many reads which may look at many rows wait for a connection or a thread; of one identity half
 * as many. A crowd of clients may have the address of one proxy.
 */
export const maxWaitingReads = 400;

/** The options of {@link ReadLimiter}. */
export interface ReadLimiterOptions {
  /** The most reads that run at a time. */
  readonly maxRunning: number;
  /** The most reads that wait; half of them may be of one identity. */
  readonly maxWaiting: number;
  /** The longest wait; less where a read has less time. */
  readonly waitLimitMs: number;
  readonly clock: Clock;
}

/** The turn of one read. */
export class ReadTurn {
  readonly #limits: ReadLimits;
  #identity: string | null = null;

  /** Neither begun nor waiting. */
  constructor(limits: ReadLimits) {
    this.#limits = limits;
  }

  /** Whose read it is: made when it is first compared. */
  get identity(): string {
    return this.#identity ??= this.#limits.identity;
  }
}

interface Waiter {
  readonly turn: ReadTurn;
  /** Begins its turn, unless its client has left. */
  readonly admit: () => void;
}

/**
 * The turns of reads which may look at many rows: a few run at a time, and the others wait in a
 * bounded queue, in which the identities take turns. One identity never has all that run, so that
 * another one needs not wait for its slow reads; with `maxRunning` 1 it has, of course.
 */
export class ReadLimiter {
  readonly #options: ReadLimiterOptions;
  readonly #running = new Set<ReadTurn>();
  readonly #waiting: FairQueue<Waiter>;

  /** Nothing runs yet. */
  constructor(options: ReadLimiterOptions) {
    this.#options = options;
    this.#waiting = new FairQueue(options);
  }

  /** The turn of a read, or a promise that rejects as `overloaded`. {@link leave} ends it. */
  enter(limits: ReadLimits): ReadTurn | Promise<ReadTurn> {
    // What waits while a turn is free is barred, and does not stand in the way of others.
    const turn = new ReadTurn(limits);
    if (this.#isBarred(turn)) return this.#wait(turn, limits);
    this.#running.add(turn);
    return turn;
  }

  /** Ends the turn of a read that has entered. */
  leave(turn: ReadTurn): void {
    this.#running.delete(turn);
    while (this.#waiting.size > 0 && this.#running.size < this.#options.maxRunning) {
      const next = this.#waiting.take((waiter) => !this.#isBarred(waiter.turn));
      if (next === undefined) return;
      next.admit();
    }
  }

  /** Returns true if a read has to wait. Identities are compared for the last free turn only: to make one costs time. */
  #isBarred(turn: ReadTurn): boolean {
    const free = this.#options.maxRunning - this.#running.size;
    if (free !== 1 || this.#running.size === 0) return free < 1;
    for (const { identity } of this.#running) {
      if (identity !== turn.identity) return false;
    }
    return true;
  }

  #wait(turn: ReadTurn, limits: ReadLimits): Promise<ReadTurn> {
    const { waitLimitMs, clock } = this.#options;
    const { identity } = turn;
    return new Promise((resolve, reject) => {
      let stop = () => {};
      const waiter: Waiter = {
        turn,
        admit: () => {
          stop();
          // A crowd that leaves soon after it has asked would otherwise be read for.
          if (limits.signal.aborted) return reject(overloaded(reasons.left));
          this.#running.add(turn);
          resolve(turn);
        },
      };
      if (!this.#waiting.add(identity, waiter)) {
        return reject(overloaded("too many wait already"));
      }
      stop = watchRead(limits, Math.min(limits.timeoutMs, waitLimitMs), clock, (why) => {
        this.#waiting.remove(identity, waiter);
        reject(overloaded(reasons[why]));
      });
    });
  }
}

const reasons: Readonly<Record<ReadEnd, string>> = {
  late: "its turn did not come in time",
  left: "its client has left",
};

function overloaded(reason: string): DatabaseError {
  return new DatabaseError("overloaded", new Error(`The read was not begun: ${reason}`));
}
