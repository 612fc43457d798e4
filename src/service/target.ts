import type { Target } from "../resource/mount.ts";

/**
 * The path and the query of a request target, raw. `new URL()` would resolve `..` and throw for a
 * bad `Host`; whatever is decided about a path is decided about this one.
 */
export function readTarget(url: string): Target {
  const scheme = url.indexOf("://");
  const start = url.indexOf("/", scheme < 0 ? 0 : scheme + 3);
  if (start < 0) return { path: "/", query: "" };
  const hash = url.indexOf("#", start);
  const end = hash < 0 ? url.length : hash;
  const mark = url.indexOf("?", start);
  if (mark < 0 || mark > end) return { path: url.slice(start, end), query: "" };
  return { path: url.slice(start, mark), query: url.slice(mark + 1, end) };
}
