import { AsyncLocalStorage } from "node:async_hooks";
import type { MaybePromise } from "../runtime/maybe_promise.ts";
import { type Backoff, waitBackoff } from "../runtime/backoff.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { DatabaseError } from "./database_error.ts";
import type { Connection, DatabaseIdentity, Driver } from "./driver.ts";

export type RetryRandomness = Pick<Runtime, "random">;

export interface TransactOptions {
  /** True if the work writes by one statement only, which then needs no transaction. */
  readonly isAutocommit?: boolean;
}

const maxTries = 3;

/** The random wait is at most 10 ms after the first attempt, and at most 40 ms after the second. */
const backoff: Backoff = { firstMs: 10, factor: 4, maxMs: 40 };

/**
 * Runs `work` in a transaction. Runs `work` again, up to three times in all, if the database rolled
 * the transaction back because of other writers (serialization failure, deadlock).
 */
export async function transact<T>(
  driver: Driver,
  runtime: RetryRandomness,
  work: (connection: Connection) => MaybePromise<T>,
  { isAutocommit = false }: TransactOptions = {},
): Promise<T> {
  for (let tries = 1;; tries++) {
    try {
      return await (isAutocommit ? work(driver.loneWrites ?? driver) : driver.transaction(work));
    } catch (error) {
      const isRetryable = error instanceof DatabaseError && error.kind === "retryable";
      if (!isRetryable || tries === maxTries) throw error;
    }
    await waitBackoff(tries, runtime, backoff);
  }
}

/** Returns a connection that uses the service's own role, even in the transaction of a user. */
export function asSystem(connection: Connection): Connection {
  return { query: (statement) => connection.query({ ...statement, isSystem: true }) };
}

export function driverActingAs(driver: Driver, identity: DatabaseIdentity): Driver {
  const acting = driver.as?.(identity);
  if (acting !== undefined) return acting;
  throw new Error("Cannot act for a user: the statement belongs to a transaction of the system");
}

/** Detects use of a driver inside its own transaction, because the use would wait forever. */
export interface TransactionGuard {
  check(): void;
  run<T>(work: () => Promise<T>): Promise<T>;
}

export function transactionGuard(): TransactionGuard {
  // After the transaction, `open` is false. Later code may use the driver.
  const transactions = new AsyncLocalStorage<{ open: boolean }>();
  return {
    check() {
      if (transactions.getStore()?.open === true) {
        throw new Error(
          "Cannot use the database inside its own transaction: use the connection that the transaction hands over",
        );
      }
    },
    async run(work) {
      const transaction = { open: true };
      try {
        return await transactions.run(transaction, work);
      } finally {
        transaction.open = false;
      }
    },
  };
}

export interface CommitListeners {
  add(listener: () => void): () => void;
  notify(): void;
}

export function commitListeners(): CommitListeners {
  const listeners = new Set<() => void>();
  return {
    add(listener) {
      // A separate function for each call, so that one listener can be added twice.
      const entry = () => listener();
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
    notify() {
      for (const listener of listeners) listener();
    },
  };
}
