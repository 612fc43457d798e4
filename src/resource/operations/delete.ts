import type { Grant } from "../../auth/authorize.ts";
import { beforeDelete } from "../write/run_hooks.ts";
import { inWrite } from "../write/in_write.ts";
import type { Operation } from "../operation.ts";
import { type NamedRow, parseNamedRow, planTarget, type RowTarget } from "../write/row_target.ts";
import { deleteRow } from "../write/update_row.ts";

interface RemovePlan {
  readonly target: RowTarget;
  readonly grant: Grant;
}

/** `DELETE /:id`: removes the row, or marks it deleted. */
export const remove: Operation<NamedRow, RemovePlan, void> = {
  name: "delete",
  access: "delete",
  takesBody: false,

  parse: parseNamedRow,

  plan(named, grant, resource) {
    return { target: planTarget(named, resource), grant };
  },

  async execute({ target, grant }, call) {
    const write = { ...call, grant };
    await beforeDelete(target, write);
    await inWrite(write, "onAfterDelete", (connection) => deleteRow(target, write, connection));
  },

  shape() {
    return { status: 204, headers: { "cache-control": "private, no-cache" }, body: null };
  },
};
