/** Throws. Requests share connections, so a BEGIN or COMMIT would affect all of them. */
export function refuseBoundary(): never {
  throw new Error("Cannot begin or end a transaction by a statement: use transaction()");
}
