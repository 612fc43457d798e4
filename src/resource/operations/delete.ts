import type { Grant } from "../../auth/authorize.ts";
import type { Operation } from "../operation.ts";
import { deleteRow } from "../write/delete_rows.ts";
import { inTransaction, isLoneStatement } from "../write/in_transaction.ts";
import {
  lockTarget,
  type NamedRow,
  parseNamedRow,
  planTarget,
  type RowTarget,
} from "../write/row_target.ts";
import { beforeDelete } from "../write/run_hooks.ts";

interface DeletePlan {
  readonly target: RowTarget;
  readonly grant: Grant;
}

/** `DELETE /:id`: deletes one row, or marks it deleted. */
export const remove: Operation<NamedRow, DeletePlan, void> = {
  name: "delete",
  access: "delete",
  takesBody: false,

  parse: parseNamedRow,

  plan(named, grant, resource) {
    return { target: planTarget(named, resource), grant };
  },

  async execute({ target, grant }, call) {
    const write = { ...call, grant };
    const { driver, hooks } = call.resource;
    if (hooks.onBeforeDelete !== undefined) {
      // The row is locked again in the transaction: this spares the hook a delete that must fail.
      await lockTarget(target, write, driver);
      await beforeDelete(target.key, write);
    }
    await inTransaction(
      write,
      (connection) => deleteRow(target, write, connection),
      { isLoneStatement: isLoneStatement(write, "onAfterDelete") },
    );
  },

  shape() {
    return { status: 204, headers: { "cache-control": "private, no-cache" }, body: null };
  },
};
