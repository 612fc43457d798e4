import { FairQueue } from "../../../runtime/queues/fair_queue.ts";
import type { Clock } from "../../../runtime/runtime.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import type { PoolUsage } from "../../../db/driver.ts";

/** Has a queue for each `use`. The queues take turns, so large reads delay no reads by key. */
export interface Pool<T> {
  /** Rejects as `unavailable` after too long a wait. Requests with an equal `use` share a queue. */
  acquire(use: string): T | Promise<T>;
  release(item: T): void;
  usage(): PoolUsage;
  close(): Promise<void>;
}

interface Waiter<T> {
  readonly resolve: (item: T) => void;
  readonly reject: (error: DatabaseError) => void;
}

export function createPool<T>(items: readonly T[], limitMs: number, clock: Clock): Pool<T> {
  // Prefers the last used connection: under light load, few connections then prepare statements.
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
