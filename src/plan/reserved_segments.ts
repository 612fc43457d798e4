/**
 * First segments below a resource's path that never are an id, whether what they lead to is enabled
 * or not. A row with such an id is reached by an encoded letter: `%63ount`.
 */
export const reservedSegments: ReadonlySet<string> = new Set([
  "aggregate",
  "batch",
  "count",
  "import",
  "rpc",
  "search",
  "subscribe",
]);
