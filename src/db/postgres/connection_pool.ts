import type { Clock } from "../../runtime/runtime.ts";
import { DatabaseError } from "../database_error.ts";

/** A few connections, lent to one user at a time, first come first served. */
export interface Pool<T> {
  /** One at once, or a promise that is rejected as `unavailable` when the wait grows too long. */
  acquire(): T | Promise<T>;
  /** Gives back what was taken; the one who waits longest has it next. */
  release(item: T): void;
  /**
   * Refuses everybody who waits or comes later; resolves when all that was lent is back, or when
   * the wait for it has grown too long.
   */
  close(): Promise<void>;
}

interface Waiter<T> {
  readonly serve: (item: T) => void;
  readonly refuse: (error: DatabaseError) => void;
}

/** Lends `items`; nobody waits longer than `limitMs`. */
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
        waiter.serve(item);
        return;
      }
      idle.push(item);
      if (idle.length === items.length) closed?.();
    },
    close() {
      for (const waiter of waiting) waiter.refuse(unavailable("it is closed"));
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
        serve(item) {
          cancel();
          resolve(item);
        },
        refuse(error) {
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
