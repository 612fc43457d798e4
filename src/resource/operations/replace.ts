import { databaseDefault } from "../../plan/plan.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import { withDefaults } from "../write/values/new_row_values.ts";
import { parseUpdate, update } from "./update.ts";
import type { Resource } from "../model/resource.ts";

/** `PUT /:id`: replaces a whole row. Omitted writable fields are reset to their default or null. */
export const replace: typeof update = {
  ...update,
  name: "replace",

  parse(request, resource) {
    return parseUpdate(request, resource, (values) => completeReplacement(values, resource));
  },
};

/** Completes a replaced row: resets the omitted columns that the client is allowed to set. */
export function completeReplacement(
  given: ReadonlyMap<ColumnInfo, unknown>,
  resource: Resource,
): ReadonlyMap<ColumnInfo, unknown> {
  const { table, fields, generated, etag } = resource;
  const resettable = (column: ColumnInfo) =>
    fields.writable.has(column) && !fields.immutable.has(column) && !column.primaryKey &&
    !column.generated && column.writeTimestamp === null && !generated.has(column) &&
    column !== etag?.versionField &&
    column !== etag?.updatedAtField;
  const replaced = withDefaults(given, resource, resettable);
  for (const column of table.columns.filter(resettable)) {
    if (replaced.has(column)) continue;
    replaced.set(column, column.default === null ? null : databaseDefault);
  }
  return replaced;
}
