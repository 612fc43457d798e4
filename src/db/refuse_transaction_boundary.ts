/** Throws for a BEGIN or COMMIT, which would affect all requests that share the connection. */
export function refuseTransactionBoundary(): never {
  throw new Error("Cannot begin or end a transaction by a statement: use transaction()");
}
