import { formatKey, parseKey, reservedSegments } from "../../plan/key.ts";
import type { Resource } from "../define/resource.ts";

/**
 * One spelling for all paths that lead to the same operation and row: without a slash at the end,
 * the id as answers spell it. `segments` are the raw ones behind the resource's path; an id that
 * is none stays as it is. Throws a 400 for a malformed percent sequence.
 */
export function operationPath(
  segments: readonly string[],
  { url, table }: Pick<Resource, "url" | "table">,
): string {
  const [first, ...rest] = segments;
  if (first === undefined) return url;
  // These are looked up as they were sent.
  const key = reservedSegments.has(first) ? null : parseKey(first, table);
  return [url, key === null ? first : formatKey(key), ...rest].join("/");
}
