import { FairQueue } from "../runtime/queues/fair_queue.ts";
import type { Clock } from "../runtime/runtime.ts";
import { DatabaseError } from "./database_error.ts";
import type { ReadLimits } from "./driver.ts";

/** An address can have half of these waiting reads, because it can be a proxy of many users. */
export const maxWaitingReads = 400;

interface ReadLimiterOptions {
  readonly maxRunning: number;
  readonly maxWaiting: number;
  /** The maximum wait, in milliseconds. If a read has a shorter time limit, that limit applies. */
  readonly waitLimitMs: number;
  readonly clock: Clock;
}

export class QueuedRead {
  readonly #limits: ReadLimits;
  #identity: string | null = null;

  constructor(limits: ReadLimits) {
    this.#limits = limits;
  }

  /** The identity of the read, computed only when needed: most reads never wait in the queue. */
  get identity(): string {
    return this.#identity ??= this.#limits.identity;
  }
}

interface Waiter {
  readonly read: QueuedRead;
  /** Starts the read, unless its client has disconnected. */
  readonly admit: () => void;
}

/**
 * Limits concurrent reads that can examine many rows. Excess reads wait in a bounded queue, in
 * which the identities take turns. If `maxRunning` is more than 1, one identity cannot have all
 * running reads.
 */
export class ReadLimiter {
  readonly #options: ReadLimiterOptions;
  readonly #running = new Set<QueuedRead>();
  readonly #waiting: FairQueue<Waiter>;

  constructor(options: ReadLimiterOptions) {
    this.#options = options;
    this.#waiting = new FairQueue(options);
  }

  /** Admits a read until {@link leave}. Rejects as `overloaded` if the read cannot run in time. */
  enter(limits: ReadLimits): QueuedRead | Promise<QueuedRead> {
    // A read that waits only because of its identity does not block the reads of other identities.
    const read = new QueuedRead(limits);
    if (this.#isBarred(read)) return this.#wait(read, limits);
    this.#running.add(read);
    return read;
  }

  leave(read: QueuedRead): void {
    this.#running.delete(read);
    while (this.#waiting.size > 0 && this.#running.size < this.#options.maxRunning) {
      const next = this.#waiting.take((waiter) => !this.#isBarred(waiter.read));
      if (next === undefined) return;
      next.admit();
    }
  }

  #isBarred(read: QueuedRead): boolean {
    const free = this.#options.maxRunning - this.#running.size;
    if (free !== 1 || this.#running.size === 0) return free < 1;
    for (const { identity } of this.#running) {
      if (identity !== read.identity) return false;
    }
    return true;
  }

  #wait(read: QueuedRead, limits: ReadLimits): Promise<QueuedRead> {
    const { waitLimitMs, clock } = this.#options;
    const { identity } = read;
    return new Promise((resolve, reject) => {
      let stop = () => {};
      const waiter: Waiter = {
        read,
        admit: () => {
          stop();
          // Without this check, the reads of many clients that have disconnected would still run.
          if (limits.signal.aborted) return reject(overloaded(reasons.left));
          this.#running.add(read);
          resolve(read);
        },
      };
      if (!this.#waiting.add(identity, waiter)) return reject(overloaded("too many wait already"));
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

/** The reason why a running or waiting read was ended: a timeout, or its client disconnected. */
type ReadEnd = "late" | "left";

/** Milliseconds after which a read listens for its client's disconnect. Most reads are faster. */
const lookForClientAfterMs = 50;

/** Calls `end` once after `limitMs` or when the client disconnects. Returns a stop function. */
export function watchRead(
  limits: ReadLimits,
  limitMs: number,
  clock: Clock,
  end: (why: ReadEnd) => void,
): () => void {
  let stop = clock.after(Math.min(limitMs, lookForClientAfterMs), () => {
    if (limitMs <= lookForClientAfterMs) end("late");
    else stop = watchClient(limits.signal, limitMs - lookForClientAfterMs, clock, end);
  });
  return () => stop();
}

function watchClient(
  signal: AbortSignal,
  leftMs: number,
  clock: Clock,
  end: (why: ReadEnd) => void,
): () => void {
  const stop = () => {
    cancel();
    signal.removeEventListener("abort", leave);
  };
  const leave = () => {
    stop();
    end("left");
  };
  const cancel = clock.after(leftMs, () => {
    stop();
    end("late");
  });
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave);
  return stop;
}
