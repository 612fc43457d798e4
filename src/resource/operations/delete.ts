import type { Grant } from "../../auth/authorize.ts";
import type { Operation, WriteCall } from "../model/operation.ts";
import { deleteLockedRows, deleteRow } from "../write/update_and_delete.ts";
import { expectedVersion } from "../write/row_version.ts";
import { inTransaction, isAutocommit } from "../write/transaction/in_transaction.ts";
import { idsOfItems, writeRecordingIds } from "../write/record_ids.ts";
import {
  lockTarget,
  optimisticIdOf,
  parsePathRow,
  type PathRow,
  planTarget,
  type RowTarget,
  writableRows,
} from "../write/row_target.ts";
import { beforeDelete, type HookedRow } from "../write/run_hooks.ts";
import { and, type Filter } from "../../filter/filter.ts";
import { keyOf } from "../../plan/key.ts";
import { countReply } from "../http/json_reply.ts";
import { parseBatchFilter } from "../write/values/batch_items.ts";
import { writeMatchingRows } from "../write/write_matching_rows.ts";

export interface PathWriteIntent {
  readonly named: PathRow;
  readonly optimisticId: string | null;
}

export interface PathWritePlan {
  readonly target: RowTarget;
  readonly optimisticId: string | null;
  readonly grant: Grant;
}

export const deleteOperation: Operation<PathWriteIntent, PathWritePlan, void> = {
  name: "delete",
  access: "delete",
  takesBody: false,

  parse(request, resource) {
    const optimisticId = optimisticIdOf(request);
    return { named: parsePathRow(request, resource), optimisticId };
  },

  plan({ named, optimisticId }, grant, resource) {
    return { target: planTarget(named, resource), optimisticId, grant };
  },

  async execute({ target, optimisticId, grant }, call) {
    const write = { ...call, grant };
    const idsOf = idsOfItems([{ key: target.key, optimisticId }], call.resource);
    const { driver, hooks } = call.resource;
    if (hooks.onBeforeDelete !== undefined) {
      // First checks that the delete can succeed: a hook must not run for a delete that fails.
      const current = await lockTarget(target, write, driver);
      await beforeDelete({ key: target.key, current: () => current }, write);
    }
    const isKnown = expectedVersion(target.precondition, call.resource) !== null;
    await inTransaction(
      write,
      async (connection) => {
        await writeRecordingIds(
          idsOf,
          call.resource,
          connection,
          () => deleteRow(target, write, connection),
        );
      },
      { isAutocommit: idsOf === null && isKnown && isAutocommit(write, "onAfterDelete") },
    );
  },

  shape() {
    return { status: 204, headers: { "cache-control": "private, no-cache" }, body: null };
  },
};

interface BatchDeletePlan {
  readonly filter: Filter;
  readonly grant: Grant;
}

export const batchDelete: Operation<Filter, BatchDeletePlan, number> = {
  name: "batch-delete",
  access: "delete",
  takesBody: true,

  parse({ body, query }, resource) {
    return parseBatchFilter({ body, query }, resource);
  },

  plan(filter, grant) {
    return { filter, grant };
  },

  execute({ filter, grant }, call) {
    const write = { ...call, grant };
    const { table, batch, hooks } = call.resource;
    return writeMatchingRows({
      matching: {
        where: and(filter, writableRows(write)),
        columns: table.primaryKey,
        limit: batch.delete,
      },
      values: null,
      hook: hooks.onBeforeDelete === undefined ? null : (row) => runHook(row, write),
      write: (rows, connection) =>
        deleteLockedRows(rows.map(({ current }) => keyOf(current, table)), write, connection),
    }, call);
  },

  shape: countReply,
};

async function runHook(row: HookedRow, write: WriteCall): Promise<null> {
  await beforeDelete(row, write);
  return null;
}
