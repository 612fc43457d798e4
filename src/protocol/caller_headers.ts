/** The names of headers that describe the request, and not its caller. */
const ownHeaders: ReadonlySet<string> = new Set([
  ...["accept", "accept-encoding", "connection", "content-encoding", "content-length"],
  ...["content-type", "idempotency-key", "if-match", "if-none-match", "last-event-id"],
  ...["transfer-encoding"],
]);

/**
 * Returns the headers for an internal request on behalf of the caller of `request`: all headers,
 * such as credentials and addresses, except the headers that describe the request itself.
 */
export function callerHeaders({ headers }: Request): Headers {
  return new Headers([...headers].filter(([name]) => !ownHeaders.has(name)));
}
