import type { ColumnInfo, Row } from "../schema/table_info.ts";
import { answer } from "./answer.ts";
import {
  type ChangeIntent,
  changeIntent,
  type ChangePlan,
  changePlan,
  changeRow,
} from "./change_row.ts";
import { completeRow, readColumns } from "./input.ts";
import type { Operation } from "./operation.ts";
import { presentRow } from "./output.ts";
import type { Resource } from "./resource.ts";

/** `PUT /:id`: the whole row. Omitted writable fields go back to their default or to null. */
export const replace: Operation<ChangeIntent, ChangePlan, Row> = {
  name: "replace",
  access: "update",
  takesBody: true,

  parse({ segment, body }, resource) {
    const given = readColumns(body, resource);
    return changeIntent(segment, resetOmitted(given, resource), resource);
  },
  plan: changePlan,
  execute: changeRow,
  shape(row, _intent, resource) {
    return answer(200, presentRow(row, resource.table.columns, resource.fields.readable));
  },
};

/** Only writable columns are reset: a protected one keeps its value. */
function resetOmitted(
  given: ReadonlyMap<ColumnInfo, unknown>,
  resource: Resource,
): Map<ColumnInfo, unknown> {
  const { table, fields } = resource;
  const resettable = (column: ColumnInfo) => !column.primaryKey && fields.writable.has(column);
  const replaced = new Map(given);
  for (const [column, value] of completeRow(given, resource, resettable)) {
    replaced.set(column, value);
  }
  for (const column of table.columns) {
    const open = resettable(column) && !column.generated && !replaced.has(column);
    if (open && column.default === null) replaced.set(column, null);
  }
  return replaced;
}
