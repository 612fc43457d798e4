import type { Grant } from "../../auth/authorize.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import { holdsGivenValues, plainValues } from "../../plan/given_value.ts";
import { valuesFor } from "../write/given_values.ts";
import { rowReply } from "../http/json_reply.ts";
import { carriedId, parseOptimisticId } from "../http/optimistic_id.ts";
import type { Operation, WriteCall } from "../operation.ts";
import { wholeBody } from "../write/body_path.ts";
import { failedWrite } from "../write/refused/failed_write.ts";
import { inTransaction, isLoneStatement } from "../write/in_transaction.ts";
import { parseRowChanges, withoutKey } from "../write/parse_fields.ts";
import { recordId, type WrittenRow } from "../write/record_ids.ts";
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
  /** The client's own id of the write. */
  readonly optimisticId: string | null;
}

interface UpdatePlan {
  readonly target: RowTarget;
  readonly values: ReadonlyMap<ColumnInfo, unknown>;
  readonly optimisticId: string | null;
  readonly grant: Grant;
}

/** `PATCH /:id`: updates the fields of one row that the body names. */
export const update: Operation<UpdateIntent, UpdatePlan, WrittenRow> = {
  name: "update",
  access: "update",
  takesBody: true,

  parse(request, resource) {
    const values = parseRowChanges(request.body, resource);
    const optimisticId = parseOptimisticId(request);
    return { named: parseNamedRow(request, resource), values, optimisticId };
  },

  plan({ named, values, optimisticId }, grant, resource) {
    const target = planTarget(named, resource);
    return {
      target,
      values: withoutKey(values, target.key, resource),
      optimisticId: carriedId(optimisticId, resource),
      grant,
    };
  },

  async execute(plan, call) {
    const { target, grant, optimisticId } = plan;
    const write = { ...call, grant };
    const values = call.resource.hooks.onBeforeUpdate === undefined
      ? plan.values
      : await hookedValues(plan, write);
    const isNamed = optimisticId !== null;
    const updated = isNamed ? null : await updateAtVersion(target, values, write);
    if (updated !== null) return { row: updated, optimisticId: null };
    try {
      return await inTransaction(
        write,
        (connection) =>
          recordId(
            { key: target.key, optimisticId },
            call.resource,
            connection,
            () => updateRow(target, values, write, connection),
          ),
        {
          isLoneStatement: !isNamed && !holdsGivenValues(values) &&
            isLoneStatement(write, "onAfterUpdate"),
        },
      );
    } catch (error) {
      // Deferred constraints are checked at the commit.
      throw failedWrite(
        error,
        call.resource,
        () => [{ ...wholeBody, values: plainValues(values) }],
      );
    }
  },

  shape({ row, optimisticId }, _update, resource) {
    return rowReply(200, row, resource, { optimisticId });
  },
};

/** The row is locked again in the transaction: this spares the hook an update that must fail. */
async function hookedValues(
  { target, values }: UpdatePlan,
  write: WriteCall,
): Promise<ReadonlyMap<ColumnInfo, unknown>> {
  const { resource } = write;
  const current = await lockTarget(target, write, resource.driver);
  valuesFor(current, values, resource);
  return await beforeUpdate({ key: target.key, current: () => current }, values, write);
}
