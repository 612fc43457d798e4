import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Knows which asynchronous work runs inside a transaction, so that a driver used inside its own
 * transaction fails at once: it would wait for ever for the connection that the transaction holds.
 */
export interface TransactionGuard {
  /** Throws when called from the work of an open transaction. */
  check(): void;
  /** Runs `work` as the work of a transaction. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** Each driver has its own guard. */
export function transactionGuard(): TransactionGuard {
  // Work that outlives its transaction keeps the state, closed by then, and may use the driver.
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
