/** Requests share connections: BEGIN or COMMIT as a statement would concern all of them. */
export function refuseBoundary(): never {
  throw new Error("Cannot begin or end a transaction by a statement: use transaction()");
}
