import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Knows which asynchronous work stands inside a transaction, so that a driver used inside its own
 * transaction fails at once: waiting for the connection that one holds oneself would never end.
 */
export interface TransactionGuard {
  /** Throws when called by work of a transaction that is open. */
  check(): void;
  /** Runs `work` as the inside of a transaction. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** One guard for one driver. */
export function transactionGuard(): TransactionGuard {
  // Work that outlives its transaction still carries the mark, and may use the driver again.
  const marks = new AsyncLocalStorage<{ open: boolean }>();
  return {
    check() {
      if (marks.getStore()?.open === true) {
        throw new Error(
          "Cannot use the database inside its own transaction: use the connection that the transaction hands over",
        );
      }
    },
    async run(work) {
      const mark = { open: true };
      try {
        return await marks.run(mark, work);
      } finally {
        mark.open = false;
      }
    },
  };
}
