import { isSameKeyValue, type Key } from "../../plan/key.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Resource } from "../define/resource.ts";
import { InvalidFields } from "./parse_fields.ts";

/**
 * The parsed fields without the key, which no update changes. Throws a 422 where they hold another
 * key.
 */
export function withoutKey(
  values: ReadonlyMap<ColumnInfo, unknown>,
  key: Key,
  { table }: Resource,
  message = "must be the id of the path",
): ReadonlyMap<ColumnInfo, unknown> {
  const rest = new Map(values);
  table.primaryKey.forEach((column, index) => {
    if (!rest.has(column)) return;
    if (!isSameKeyValue(rest.get(column), key[index], column)) {
      throw new InvalidFields([{ path: column.name, message }]);
    }
    rest.delete(column);
  });
  return rest;
}
