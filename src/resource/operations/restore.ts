import type { Grant } from "../../auth/authorize.ts";
import type { Row } from "../../schema/table_info.ts";
import { rowReply } from "../http/json_reply.ts";
import { inTransaction } from "../write/in_transaction.ts";
import type { Operation } from "../operation.ts";
import { type NamedRow, parseNamedRow, planTarget, type RowTarget } from "../write/row_target.ts";
import { restoreRow } from "../write/update_row.ts";

interface RestorePlan {
  readonly target: RowTarget;
  readonly grant: Grant;
}

/** `POST /:id/restore`: takes the mark of deletion from a row. */
export const restore: Operation<NamedRow, RestorePlan, Row> = {
  name: "restore",
  access: "update",
  takesBody: false,

  parse: parseNamedRow,

  plan(named, grant, resource) {
    return { target: planTarget(named, resource), grant };
  },

  execute({ target, grant }, call) {
    const write = { ...call, grant };
    return inTransaction(call, (connection) => restoreRow(target, write, connection));
  },

  shape(row, _named, resource) {
    return rowReply(200, row, resource);
  },
};
