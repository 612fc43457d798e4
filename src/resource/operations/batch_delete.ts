import type { Grant } from "../../auth/authorize.ts";
import type { Connection } from "../../db/driver.ts";
import { and, type Filter } from "../../filter/filter.ts";
import { type Key, keyId, keyOf } from "../../plan/key.ts";
import { jsonReply } from "../http/json_reply.ts";
import { parseBatchFilter } from "../write/batch_items.ts";
import { deleteByKeys, reachableRows } from "../write/update_locked_rows.ts";
import { type MatchingRows, readByKeys, readMatching } from "../write/read_rows_to_write.ts";
import { hookedDelete } from "../write/run_hooks.ts";
import type { WriteCall } from "../operation_call.ts";
import { inPaidTransaction, paidMatching, payMatching } from "../write/in_paid_transaction.ts";
import type { Operation } from "../operation.ts";
import type { Resource } from "../define/resource.ts";
import { afterDelete } from "../write/update_row.ts";

interface BatchDeletePlan {
  readonly filter: Filter;
  readonly grant: Grant;
}

/** `DELETE /batch`: removes, or marks deleted, every row that the filter matches. */
export const batchDelete: Operation<Filter, BatchDeletePlan, number> = {
  name: "batch-delete",
  access: "delete",
  takesBody: true,

  parse({ body }, resource) {
    return parseBatchFilter(body, resource);
  },

  plan(filter, grant) {
    return { filter, grant };
  },

  async execute({ filter, grant }, call) {
    const write = { ...call, grant };
    const { resource } = call;
    const where = and(filter, reachableRows(write));
    const what = { where, columns: resource.table.primaryKey, limit: resource.batch.delete };
    const hooked = resource.hooks.onBeforeDelete === undefined
      ? null
      : await hookedKeys(what, write);
    if (hooked === null) await payMatching(what, call);
    return await inPaidTransaction(call, {
      find: (connection) =>
        hooked === null
          ? lockKeys(what, resource, connection)
          : lockHooked(hooked, where, resource, connection),
      async change(keys, connection) {
        const count = await deleteByKeys(keys, resource, connection);
        for (const key of keys) await afterDelete(key, write, connection);
        return count;
      },
    });
  },

  shape(count) {
    return jsonReply(200, { count });
  },
};

async function hookedKeys(what: MatchingRows, write: WriteCall): Promise<readonly Key[]> {
  const { table } = write.resource;
  const keys = (await paidMatching(what, write)).map((row) => keyOf(row, table));
  for (const key of keys) await hookedDelete(key, write);
  return keys;
}

async function lockKeys(
  what: MatchingRows,
  resource: Resource,
  connection: Connection,
): Promise<readonly Key[]> {
  const rows = await readMatching({ ...what, lock: true }, resource, connection);
  return rows.map((row) => keyOf(row, resource.table));
}

/** Of the rows that the hook has seen those that the filter still matches. */
async function lockHooked(
  keys: readonly Key[],
  where: Filter,
  resource: Resource,
  connection: Connection,
): Promise<readonly Key[]> {
  const { table } = resource;
  const what = { keys, where, columns: table.primaryKey, lock: true as const };
  const rows = await readByKeys(what, resource, connection);
  return keys.filter((key) => rows.has(keyId(key, table)));
}
