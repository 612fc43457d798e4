import { FairQueue } from "../../../runtime/queues/fair_queue.ts";
import type { Clock } from "../../../runtime/runtime.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import type { PoolUsage } from "../../../db/driver.ts";

/**
 * A pool of a few connections to Postgres, each for one user at a time. Where several wait, their
 * uses take turns, those of one use in the order in which they came: a row is read by its key
 * although fifty transactions wait, or hundreds of reads of large rows of another table.
 */
export interface Pool<T> {
  /**
   * A free one, or a promise that rejects as `unavailable` when the wait takes too long. `use` names
   * what it is for; of a statement by itself it is the text.
   */
  acquire(use: string): T | Promise<T>;
  /** Returns a connection back; the next wait has it. */
  release(item: T): void;
  /** How it is used now. */
  usage(): PoolUsage;
  /**
   * Rejects all waits, and later ones; resolves when all connections are back, or after the wait
   * limit.
   */
  close(): Promise<void>;
}

interface Waiter<T> {
  readonly resolve: (item: T) => void;
  readonly reject: (error: DatabaseError) => void;
}

/** Creates a connection pool of `items`; no wait for one of them is longer than `limitMs`. */
export function pool<T>(items: readonly T[], limitMs: number, clock: Clock): Pool<T> {
  // Last in, first out: under light load few connections work, and their statements stay prepared.
  const idle = items.toReversed();
  const waiting = new FairQueue<Waiter<T>>({ maxWaiting: Infinity });
  let closed: (() => void) | null = null;
  let [waits, waitedMs] = [0, 0];

  return {
    acquire(use) {
      if (closed !== null) return Promise.reject(unavailable("it is closed"));
      return idle.pop() ?? wait(use);
    },
    release(item) {
      const waiter = waiting.take();
      if (waiter !== undefined) return waiter.resolve(item);
      idle.push(item);
      if (idle.length === items.length) closed?.();
    },
    usage: () => {
      const size = items.length;
      return { size, used: size - idle.length, waiting: waiting.size, waits, waitedMs };
    },
    close() {
      while (waiting.size > 0) waiting.take()?.reject(unavailable("it is closed"));
      return new Promise((resolve) => {
        const cancel = clock.after(limitMs, resolve);
        closed = () => {
          cancel();
          resolve();
        };
        if (idle.length === items.length) closed();
      });
    },
  };

  function wait(use: string): Promise<T> {
    const since = clock.elapsedMs();
    waits++;
    return new Promise((resolve, reject) => {
      const cancel = clock.after(limitMs, () => {
        waiting.remove(use, waiter);
        waitedMs += clock.elapsedMs() - since;
        reject(unavailable(`no connection was free within ${limitMs} ms`));
      });
      const waiter: Waiter<T> = {
        resolve(item) {
          cancel();
          waitedMs += clock.elapsedMs() - since;
          resolve(item);
        },
        reject(error) {
          cancel();
          reject(error);
        },
      };
      waiting.add(use, waiter);
    });
  }
}

function unavailable(reason: string): DatabaseError {
  return new DatabaseError("unavailable", new Error(`Cannot use the database: ${reason}`));
}
