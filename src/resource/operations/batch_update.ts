import type { Grant } from "../../auth/authorize.ts";
import { and, type Filter, reachesTable } from "../../filter/filter.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import { countReply } from "../http/json_reply.ts";
import type { Operation } from "../model/operation.ts";
import { parseBatchFilter, parsePatch } from "../write/values/batch_items.ts";
import { writableRows } from "../write/row_target.ts";
import { beforeUpdate } from "../write/run_hooks.ts";
import { columnsToUpdate, updateLockedRows } from "../write/update_locked_rows.ts";
import { writeMatchingRows } from "../write/write_matching_rows.ts";

interface BatchUpdate {
  readonly filter: Filter;
  readonly values: ReadonlyMap<ColumnInfo, unknown>;
}

interface BatchUpdatePlan extends BatchUpdate {
  readonly grant: Grant;
}

export const batchUpdate: Operation<BatchUpdate, BatchUpdatePlan, number> = {
  name: "batch-update",
  access: "update",
  takesBody: true,

  parse({ body, query }, resource) {
    return {
      filter: parseBatchFilter({ body, query }, resource),
      values: parsePatch(body, resource),
    };
  },

  plan(update, grant) {
    return { ...update, grant };
  },

  execute({ filter, values, grant }, call) {
    const write = { ...call, grant };
    const { resource } = call;
    return writeMatchingRows({
      matching: {
        where: and(filter, writableRows(write)),
        // If the scope tests this table's rows, its check needs all old and new values.
        columns: reachesTable(grant.rows, resource.table)
          ? resource.stored
          : columnsToUpdate(resource),
        limit: resource.batch.update,
      },
      values,
      hook: resource.hooks.onBeforeUpdate === undefined
        ? null
        : (row) => beforeUpdate(row, values, write),
      write: (rows, connection) => updateLockedRows(rows, write, connection),
    }, call);
  },

  shape: countReply,
};
