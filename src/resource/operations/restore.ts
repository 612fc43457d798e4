import type { Connection } from "../../db/driver.ts";
import { allRows, and, type Filter } from "../../filter/filter.ts";
import { rowMatches } from "../../filter/match/row_matches.ts";
import { keyFilter } from "../../plan/key.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import type { SoftDelete } from "../model/soft_delete.ts";
import { requireSameOrigin } from "../http/same_origin.ts";
import { rowReply } from "../shape/output.ts";
import { requirePrecondition } from "../http/etag.ts";
import type { Operation, WriteCall } from "../model/operation.ts";
import { notFound, notFoundOrForbidden } from "../rights/not_found_or_forbidden.ts";
import { inTransaction } from "../write/transaction/in_transaction.ts";
import { writeRecordingId, type WrittenRow } from "../write/record_ids.ts";
import { lockRow, type RowTarget } from "../write/row_target.ts";
import { beforeUpdate } from "../write/run_hooks.ts";
import { updateIfSameVersion } from "../write/update_and_delete.ts";
import { deleteOperation, type PathWriteIntent, type PathWritePlan } from "./delete.ts";

export const restore: Operation<PathWriteIntent, PathWritePlan, WrittenRow> = {
  name: "restore",
  access: "update",
  takesBody: false,

  parse(request, resource) {
    requireSameOrigin(request);
    return deleteOperation.parse(request, resource);
  },

  plan: deleteOperation.plan,

  async execute({ target, optimisticId, grant }, call) {
    const write = { ...call, grant };
    const { softDelete, driver, hooks } = call.resource;
    if (softDelete === null) throw notFound(call.resource, target.segment);
    const { field, unmarked } = softDelete;
    const unmark = new Map<ColumnInfo, unknown>([[field, unmarked]]);
    let set: ReadonlyMap<ColumnInfo, unknown> = unmark;
    if (hooks.onBeforeUpdate !== undefined && target.key !== null) {
      // First checks that the restore can succeed: no hook must run for a restore that fails.
      const { current } = await lockDeleted(target, softDelete, write, driver);
      const row = { key: target.key, current: () => current };
      // A hook can set other columns, but cannot keep the row deleted.
      set = new Map([...await beforeUpdate(row, unmark, write), ...unmark]);
    }
    return await inTransaction(call, async (connection) => {
      const { where, current } = await lockDeleted(target, softDelete, write, connection);
      return await writeRecordingId(
        { key: target.key, optimisticId },
        call.resource,
        connection,
        () => updateIfSameVersion({ target, current, where, set }, write, connection),
      );
    });
  },

  shape({ row, optimisticId }, _intent, resource) {
    return rowReply(200, row, resource, { optimisticId });
  },
};

async function lockDeleted(
  target: RowTarget,
  { undeleted }: SoftDelete,
  write: WriteCall,
  connection: Connection,
): Promise<{ readonly where: Filter; readonly current: Row }> {
  const { resource, grant } = write;
  const where = and(keyFilter(target.key, resource.table), grant.visible, grant.rows);
  const current = await lockRow(where, resource, connection);
  if (current === null) throw await notFoundOrForbidden(target, write, connection, allRows);
  requirePrecondition(target.precondition, current, resource);
  if (rowMatches(undeleted, current)) {
    throw new Problem(
      "conflict",
      `Cannot restore ${target.segment.slice(0, 100)}: it is not deleted`,
    );
  }
  return { where, current };
}
