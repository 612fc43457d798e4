import type { Row } from "../schema/table_info.ts";
import { answer } from "./answer.ts";
import {
  type ChangeIntent,
  changeIntent,
  type ChangePlan,
  changePlan,
  changeRow,
} from "./change_row.ts";
import { readColumns } from "./input.ts";
import type { Operation } from "./operation.ts";
import { presentRow } from "./output.ts";

/** `PATCH /:id`: changes the fields that the body names. */
export const update: Operation<ChangeIntent, ChangePlan, Row> = {
  name: "update",
  access: "update",
  takesBody: true,

  parse({ segment, body }, resource) {
    return changeIntent(segment, readColumns(body, resource), resource);
  },
  plan: changePlan,
  execute: changeRow,
  shape(row, _intent, resource) {
    return answer(200, presentRow(row, resource.table.columns, resource.fields.readable));
  },
};
