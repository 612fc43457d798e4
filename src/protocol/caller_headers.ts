const ownHeaders: ReadonlySet<string> = new Set([
  ...["accept", "accept-encoding", "connection", "content-encoding", "content-length"],
  ...["content-type", "idempotency-key", "if-match", "if-none-match", "last-event-id"],
  ...["transfer-encoding"],
]);

export function callerHeaders({ headers }: Request): Headers {
  return new Headers([...headers].filter(([name]) => !ownHeaders.has(name)));
}
