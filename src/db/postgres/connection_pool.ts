import type { Clock } from "../../runtime/runtime.ts";
import { DatabaseError } from "../database_error.ts";

/**
 * A pool of a few connections to Postgres, each for one user at a time, first come first served.
 */
export interface Pool<T> {
  /** A free one, or a promise that rejects as `unavailable` when the wait takes too long. */
  acquire(): T | Promise<T>;
  /** Gives a connection back; the longest wait has it next. */
  release(item: T): void;
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
  const waiting = new Set<Waiter<T>>();
  let closed: (() => void) | null = null;

  return {
    acquire() {
      if (closed !== null) return Promise.reject(unavailable("it is closed"));
      return idle.pop() ?? wait();
    },
    release(item) {
      for (const waiter of waiting) {
        waiting.delete(waiter);
        waiter.resolve(item);
        return;
      }
      idle.push(item);
      if (idle.length === items.length) closed?.();
    },
    close() {
      for (const waiter of waiting) waiter.reject(unavailable("it is closed"));
      waiting.clear();
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

  function wait(): Promise<T> {
    return new Promise((resolve, reject) => {
      const cancel = clock.after(limitMs, () => {
        waiting.delete(waiter);
        reject(unavailable(`no connection was free within ${limitMs} ms`));
      });
      const waiter: Waiter<T> = {
        resolve(item) {
          cancel();
          resolve(item);
        },
        reject(error) {
          cancel();
          reject(error);
        },
      };
      waiting.add(waiter);
    });
  }
}

function unavailable(reason: string): DatabaseError {
  return new DatabaseError("unavailable", new Error(`Cannot use the database: ${reason}`));
}
