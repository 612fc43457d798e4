import type { Grant } from "../../auth/authorize.ts";
import { and, type Filter } from "../../filter/filter.ts";
import { keyOf } from "../../plan/key.ts";
import { jsonReply } from "../http/json_reply.ts";
import type { Operation, WriteCall } from "../model/operation.ts";
import { parseBatchFilter } from "../write/values/batch_items.ts";
import { deleteLockedRows } from "../write/delete_rows.ts";
import { writableRows } from "../write/row_target.ts";
import { beforeDelete, type HookedRow } from "../write/run_hooks.ts";
import { writeMatchingRows } from "../write/write_matching_rows.ts";

interface BatchDeletePlan {
  readonly filter: Filter;
  readonly grant: Grant;
}

/** `DELETE /batch`: deletes every row that the filter matches, or marks it as deleted. */
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

  shape(count) {
    return jsonReply(200, { count });
  },
};

async function runHook(row: HookedRow, write: WriteCall): Promise<null> {
  await beforeDelete(row, write);
  return null;
}
