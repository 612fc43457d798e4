import type { RequestTarget } from "./resource_router.ts";

/**
 * The path and the query of a request target, raw. `new URL()` would resolve `..` and throw for a
 * bad `Host`; whatever is decided about a path is decided about this one.
 */
export function parseRequestTarget(url: string): RequestTarget {
  const scheme = url.indexOf("://");
  const host = scheme < 0 ? 0 : scheme + 3;
  const slash = url.indexOf("/", host);
  const hash = url.indexOf("#", host);
  const end = hash < 0 ? url.length : hash;
  const mark = url.indexOf("?", host);
  const pathEnd = mark < 0 || mark > end ? end : mark;
  // The target `http://x?a=/` has no path: the slash is one of its query.
  const path = slash < 0 || slash > pathEnd ? "/" : url.slice(slash, pathEnd);
  return { path, query: pathEnd === end ? "" : url.slice(pathEnd + 1, end) };
}
