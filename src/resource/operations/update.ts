import type { Row } from "../../schema/table_info.ts";
import { answerRow } from "../http/json_reply.ts";
import {
  type Change,
  type ChangePlan,
  executeChange,
  planChange,
  readChange,
} from "../write/change.ts";
import { readColumns } from "../write/parse_fields.ts";
import type { Operation } from "../operation.ts";

/** `PATCH /:id`: changes the fields that the body names. */
export const update: Operation<Change, ChangePlan, Row> = {
  name: "update",
  access: "update",
  takesBody: true,

  parse(request, resource) {
    return readChange(request, readColumns(request.body, resource), resource);
  },
  plan: planChange,
  execute: executeChange,
  shape(row, _change, resource) {
    return answerRow(200, row, resource);
  },
};
