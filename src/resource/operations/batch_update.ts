import type { Grant } from "../../auth/authorize.ts";
import type { Connection } from "../../db/driver.ts";
import { and, type Filter } from "../../filter/filter.ts";
import { type Key, keyId, keyOf } from "../../plan/key.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import { jsonReply } from "../http/json_reply.ts";
import { parseBatchFilter, parsePatch } from "../write/batch_items.ts";
import {
  columnsToUpdate,
  type LockedRowUpdate,
  reachableRows,
  updateLockedRows,
} from "../write/update_locked_rows.ts";
import { type MatchingRows, readByKeys, readMatching } from "../write/read_rows_to_write.ts";
import { hookedUpdate } from "../write/run_hooks.ts";
import type { WriteCall } from "../operation_call.ts";
import { withoutKey } from "../write/requested_update.ts";
import { inPaidTransaction, paidMatching, payMatching } from "../write/in_paid_transaction.ts";
import type { Operation } from "../operation.ts";
import type { Resource } from "../define/resource.ts";

interface BatchUpdate {
  readonly filter: Filter;
  readonly values: ReadonlyMap<ColumnInfo, unknown>;
}

interface BatchUpdatePlan extends BatchUpdate {
  readonly grant: Grant;
}

/** `PATCH /batch`: one change for every row that the filter matches. */
export const batchUpdate: Operation<BatchUpdate, BatchUpdatePlan, number> = {
  name: "batch-update",
  access: "update",
  takesBody: true,

  parse({ body }, resource) {
    return { filter: parseBatchFilter(body, resource), values: parsePatch(body, resource) };
  },

  plan(update, grant) {
    return { ...update, grant };
  },

  async execute({ filter, values, grant }, call) {
    const write = { ...call, grant };
    const { resource } = call;
    const where = and(filter, reachableRows(write));
    const what = { where, columns: columnsToUpdate(resource), limit: resource.batch.update };
    const hooked = resource.hooks.onBeforeUpdate === undefined
      ? null
      : await hookedChanges(what, values, write);
    if (hooked === null) await payMatching(what, call);
    return await inPaidTransaction(call, {
      async find(connection) {
        if (hooked !== null) return await lockHooked(hooked, where, resource, connection);
        const rows = await readMatching({ ...what, lock: true }, resource, connection);
        return rows.map((current) => ({ current, values }));
      },
      change: (changes, connection) => updateLockedRows(changes, write, connection),
    });
  },

  shape(count) {
    return jsonReply(200, { count });
  },
};

interface HookedChange {
  readonly key: Key;
  readonly values: ReadonlyMap<ColumnInfo, unknown>;
}

/** What the before-hook makes of the change, row by row, before the transaction. */
async function hookedChanges(
  what: MatchingRows,
  values: ReadonlyMap<ColumnInfo, unknown>,
  write: WriteCall,
): Promise<readonly HookedChange[]> {
  const changes: HookedChange[] = [];
  for (const row of await paidMatching(what, write)) {
    const key = keyOf(row, write.resource.table);
    const changed = await hookedUpdate(key, values, write);
    changes.push({ key, values: withoutKey(changed, key, write.resource) });
  }
  return changes;
}

/** Of the rows that the hook has seen those that the filter still matches. */
async function lockHooked(
  hooked: readonly HookedChange[],
  where: Filter,
  resource: Resource,
  connection: Connection,
): Promise<readonly LockedRowUpdate[]> {
  const columns = columnsToUpdate(resource);
  const keys = hooked.map(({ key }) => key);
  const what = { keys, where, columns, lock: true as const };
  const rows = await readByKeys(what, resource, connection);
  return hooked.flatMap(({ key, values }) => {
    const current = rows.get(keyId(key, resource.table));
    return current === undefined ? [] : [{ current, values }];
  });
}
