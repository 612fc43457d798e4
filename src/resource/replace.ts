import { databaseDefault } from "../plan/plan.ts";
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
  const resettable = (column: ColumnInfo) =>
    !column.primaryKey && !column.generated && resource.fields.writable.has(column);
  const replaced = completeRow(given, resource, resettable);
  for (const column of resource.table.columns.filter(resettable)) {
    if (replaced.has(column)) continue;
    replaced.set(column, column.default === null ? null : databaseDefault);
  }
  return replaced;
}
