import { formatKey, keyOf } from "../../plan/key.ts";
import type { Row } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";

/**
 * Returns the `Location` header of a new row. Returns none if the caller cannot see the key, or if
 * the key is too long for proxies: nginx permits 4 kB for all headers of a response.
 */
export function locationOf(
  row: Row,
  { table, url, fields }: Resource,
): Readonly<Record<string, string>> {
  if (!table.primaryKey.every((column) => fields.readable.includes(column))) return {};
  const segment = formatKey(keyOf(row, table), table.primaryKey);
  return segment.length > maxSegmentLength ? {} : { location: `${url}/${segment}` };
}

const maxSegmentLength = 2_000;
