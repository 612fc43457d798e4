import type { Grant } from "../../auth/authorize.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import { rowReply } from "../http/json_reply.ts";
import type { Operation, WriteCall } from "../operation.ts";
import { inTransaction, isLoneStatement } from "../write/in_transaction.ts";
import { parseChanges, withoutKey } from "../write/parse_fields.ts";
import {
  lockTarget,
  type NamedRow,
  parseNamedRow,
  planTarget,
  type RowTarget,
} from "../write/row_target.ts";
import { beforeUpdate } from "../write/run_hooks.ts";
import { updateAtVersion } from "../write/update_at_version.ts";
import { updateRow } from "../write/update_row.ts";

/** The row that a PATCH or PUT names, and the new values of some of its columns. */
interface UpdateIntent {
  readonly named: NamedRow;
  readonly values: ReadonlyMap<ColumnInfo, unknown>;
}

interface UpdatePlan {
  readonly target: RowTarget;
  readonly values: ReadonlyMap<ColumnInfo, unknown>;
  readonly grant: Grant;
}

/** `PATCH /:id`: updates the fields of one row that the body names. */
export const update: Operation<UpdateIntent, UpdatePlan, Row> = {
  name: "update",
  access: "update",
  takesBody: true,

  parse(request, resource) {
    const values = parseChanges(request.body, resource);
    return { named: parseNamedRow(request, resource), values };
  },

  plan({ named, values }, grant, resource) {
    const target = planTarget(named, resource);
    return { target, values: withoutKey(values, target.key, resource), grant };
  },

  async execute(plan, call) {
    const { target, grant } = plan;
    const write = { ...call, grant };
    const values = call.resource.hooks.onBeforeUpdate === undefined
      ? plan.values
      : await hookedValues(plan, write);
    const updated = await updateAtVersion(target, values, write);
    if (updated !== null) return updated;
    return await inTransaction(
      write,
      (connection) => updateRow(target, values, write, connection),
      { isLoneStatement: isLoneStatement(write, "onAfterUpdate") },
    );
  },

  shape(row, _update, resource) {
    return rowReply(200, row, resource);
  },
};

/** The row is locked again in the transaction: this spares the hook an update that must fail. */
async function hookedValues(
  { target, values }: UpdatePlan,
  write: WriteCall,
): Promise<ReadonlyMap<ColumnInfo, unknown>> {
  await lockTarget(target, write, write.resource.driver);
  return await beforeUpdate(target.key, values, write);
}
