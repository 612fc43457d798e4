import { formatKey, keyOf } from "../../plan/key.ts";
import type { Row } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";

/** Returns the `Location` header of a new row, or none if the caller cannot see its key. */
export function locationOf(
  row: Row,
  { table, url, fields }: Resource,
): Readonly<Record<string, string>> {
  if (!table.primaryKey.every((column) => fields.readable.includes(column))) return {};
  return { location: `${url}/${formatKey(keyOf(row, table), table.primaryKey)}` };
}
