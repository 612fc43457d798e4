/**
 * Prevents postgres.js from repeating a query whose prepared statement is stale because its table
 * was altered. The library would repeat the query after all queries that were sent in the meantime.
 * A statement of a failed transaction would then be executed after the end of the transaction, and
 * committed. The library repeats a query only if the query is `prepared` when the error arrives.
 */
export function neverRepeat(query: object): void {
  let prepared: unknown;
  Object.defineProperty(query, "prepared", {
    get: () => prepared,
    set(value: unknown) {
      prepared = value;
      // The library sends the query in the current task, which ends before this microtask runs.
      queueMicrotask(() => prepared = false);
    },
  });
}
