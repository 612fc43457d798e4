/** The path and the raw query of a request target (RFC 9112, 3.2), separated once per request. */
export interface RequestTarget {
  /** As it was sent, still percent-encoded, from the first slash on. */
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
}

/**
 * The path and the query of a request's URL, raw. `new URL()` would resolve `..` and throw for a
 * bad `Host`. Every decision about a path uses this one.
 */
export function parseRequestTarget(url: string): RequestTarget {
  const scheme = url.indexOf("://");
  const host = scheme < 0 ? 0 : scheme + 3;
  const slash = url.indexOf("/", host);
  const hash = url.indexOf("#", host);
  const end = hash < 0 ? url.length : hash;
  const mark = url.indexOf("?", host);
  const pathEnd = mark < 0 || mark > end ? end : mark;
  // The target `http://x?a=/` has no path: the slash belongs to its query.
  const path = slash < 0 || slash > pathEnd ? "/" : url.slice(slash, pathEnd);
  return { path, query: pathEnd === end ? "" : url.slice(pathEnd + 1, end) };
}
