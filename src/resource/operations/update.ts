import type { Row } from "../../schema/table_info.ts";
import { rowReply } from "../http/json_reply.ts";
import {
  executeUpdate,
  parseUpdate,
  planUpdate,
  type RequestedUpdate,
  type RequestedUpdatePlan,
} from "../write/requested_update.ts";
import { parseColumns } from "../write/parse_fields.ts";
import type { Operation } from "../operation.ts";

/** `PATCH /:id`: changes the fields that the body names. */
export const update: Operation<RequestedUpdate, RequestedUpdatePlan, Row> = {
  name: "update",
  access: "update",
  takesBody: true,

  parse(request, resource) {
    return parseUpdate(request, parseColumns(request.body, resource), resource);
  },
  plan: planUpdate,
  execute: executeUpdate,
  shape(row, _change, resource) {
    return rowReply(200, row, resource);
  },
};
