/** The names of headers that describe the request, and not its caller. */
const ownHeaders: ReadonlySet<string> = new Set([
  ...["accept", "accept-encoding", "connection", "content-encoding", "content-length"],
  ...["content-type", "idempotency-key", "if-match", "if-none-match", "last-event-id"],
  ...["transfer-encoding"],
]);

/** Returns a caller's headers for an internal request, without those that describe the request. */
export function callerHeaders({ headers }: Request): Headers {
  return new Headers([...headers].filter(([name]) => !ownHeaders.has(name)));
}
