import { databaseDefault } from "../../plan/plan.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import { rowReply } from "../http/json_reply.ts";
import {
  executeUpdate,
  parseUpdate,
  planUpdate,
  type RequestedUpdate,
  type RequestedUpdatePlan,
} from "../write/requested_update.ts";
import { parseColumns, withDefaults } from "../write/parse_fields.ts";
import type { Operation } from "../operation.ts";
import type { Resource } from "../define/resource.ts";

/** `PUT /:id`: the whole row. Omitted writable fields go back to their default or to null. */
export const replace: Operation<RequestedUpdate, RequestedUpdatePlan, Row> = {
  name: "replace",
  access: "update",
  takesBody: true,

  parse(request, resource) {
    return parseUpdate(request, wholeRow(parseColumns(request.body, resource), resource), resource);
  },
  plan: planUpdate,
  execute: executeUpdate,
  shape(row, _change, resource) {
    return rowReply(200, row, resource);
  },
};

/** Resets what is omitted. Only what a caller may set is reset: a protected column keeps its value. */
export function wholeRow(
  given: ReadonlyMap<ColumnInfo, unknown>,
  resource: Resource,
): ReadonlyMap<ColumnInfo, unknown> {
  const { table, fields, generated, etag } = resource;
  const resettable = (column: ColumnInfo) =>
    fields.writable.has(column) && !column.primaryKey && !column.generated &&
    !generated.has(column) && column !== etag?.versionField && column !== etag?.updatedAtField;
  const replaced = withDefaults(given, resource, resettable);
  for (const column of table.columns.filter(resettable)) {
    if (replaced.has(column)) continue;
    replaced.set(column, column.default === null ? null : databaseDefault);
  }
  return replaced;
}
