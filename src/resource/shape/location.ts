import { formatKey, keyOf } from "../../plan/key.ts";
import type { Row } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";

/**
 * Returns the `Location` header of a new row. Returns none if the caller cannot see the key, if the
 * key is empty, or if it is so long that proxies refuse the header: nginx permits 4 kB for all
 * headers of a response.
 */
export function locationOf(
  row: Row,
  { table, url, fields }: Resource,
): Readonly<Record<string, string>> {
  if (!table.primaryKey.every((column) => fields.readable.includes(column))) return {};
  // Every client would resolve `..` to another path, and some clients do not resolve `%2E%2E`.
  const segment = formatKey(keyOf(row, table), table.primaryKey)
    .replace(/^\.{1,2}$/, (dots) => "%2E".repeat(dots.length));
  if (segment === "" || segment.length > maxSegmentLength) return {};
  return { location: `${url}/${segment}` };
}

const maxSegmentLength = 2_000;
