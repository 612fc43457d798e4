/** Headers of a request that are about that request, and not about its caller. */
const ownHeaders: ReadonlySet<string> = new Set([
  ...["accept", "accept-encoding", "connection", "content-encoding", "content-length"],
  ...["content-type", "idempotency-key", "if-match", "if-none-match", "last-event-id"],
  ...["transfer-encoding"],
]);

/**
 * The headers that a request has in the name of the caller of another one: credentials, origin,
 * addresses, and whatever else a middleware may look at.
 */
export function callerHeaders({ headers }: Request): Headers {
  return new Headers([...headers].filter(([name]) => !ownHeaders.has(name)));
}
