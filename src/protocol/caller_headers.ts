/** Headers that describe the request itself, and not its caller. */
const ownHeaders: ReadonlySet<string> = new Set([
  ...["accept", "accept-encoding", "connection", "content-encoding", "content-length"],
  ...["content-type", "idempotency-key", "if-match", "if-none-match", "last-event-id"],
  ...["transfer-encoding"],
]);

/**
 * Returns the headers that a request in the name of another caller needs: credentials, origin,
 * addresses, and everything else that middleware may read.
 */
export function callerHeaders({ headers }: Request): Headers {
  return new Headers([...headers].filter(([name]) => !ownHeaders.has(name)));
}
