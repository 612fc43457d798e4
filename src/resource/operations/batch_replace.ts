import type { Grant } from "../../auth/authorize.ts";
import type { Connection } from "../../db/driver.ts";
import { formatKey, keyId } from "../../plan/key.ts";
import { requireFittingReply, rowsReply } from "../shape/output.ts";
import {
  type KeyedItem,
  mapItems,
  mapItemsInTurn,
  parseKeyedItems,
} from "../write/values/batch_items.ts";
import { type ItemUpdate, updateItems } from "../write/update_locked_rows.ts";
import { idsOfItems, noOptimisticIds, writeRecordingIds } from "../write/record_ids.ts";
import { resolveUnchanged } from "../write/values/echoed_values.ts";
import { readByKeys } from "../write/read_rows_to_write.ts";
import { withoutKey, writableRows } from "../write/row_target.ts";
import { beforeUpdateItem } from "../write/run_hooks.ts";
import { parseRowChanges } from "../write/values/parse_fields.ts";
import { inTransaction } from "../write/transaction/in_transaction.ts";
import { notFoundOrForbidden } from "../rights/not_found_or_forbidden.ts";
import type { Operation, WriteCall } from "../model/operation.ts";
import { requirePrecondition } from "../http/etag.ts";
import { completeReplacement } from "./update.ts";
import type { WrittenRows } from "../model/resource.ts";

interface BatchReplacePlan {
  readonly items: readonly KeyedItem[];
  readonly grant: Grant;
}

export const batchReplace: Operation<readonly KeyedItem[], BatchReplacePlan, WrittenRows> = {
  name: "batch-replace",
  access: "update",
  takesBody: true,

  parse({ body }, resource) {
    return mapItems(
      parseKeyedItems(body, resource, {
        limit: resource.batch.replace,
        by: resource.table,
        parse: parseRowChanges,
      }),
      (item) => ({
        ...item,
        values: withoutKey(completeReplacement(item.values, resource), item.key, resource),
      }),
    );
  },

  items: ({ length }) => length,

  plan(items, grant) {
    return { items, grant };
  },

  async execute({ items, grant }, call) {
    if (items.length === 0) return { rows: [], recorded: noOptimisticIds };
    const write = { ...call, grant };
    const { driver, hooks } = call.resource;
    const hooked = hooks.onBeforeUpdate === undefined
      ? items
      : await mapItemsInTurn(await lockItems(items, write, driver), (item) =>
        beforeUpdateItem(item, write));
    return await inTransaction(call, async (connection) => {
      const locked = await lockItems(hooked, write, connection);
      const { written: rows, recorded } = await writeRecordingIds(
        idsOfItems(items, call.resource),
        call.resource,
        connection,
        () => updateItems(locked, write, connection),
      );
      requireFittingReply(rows, call.resource);
      return { rows, recorded };
    });
  },

  shape(written, _items, resource) {
    return rowsReply(200, written, resource);
  },
};

async function lockItems(
  items: readonly KeyedItem[],
  write: WriteCall,
  connection: Connection,
): Promise<readonly ItemUpdate[]> {
  const { resource } = write;
  const { table } = resource;
  const what = {
    keys: items.map(({ key }) => key),
    where: writableRows(write),
    columns: resource.stored,
    lock: true as const,
  };
  const rows = await readByKeys(what, resource, connection);
  return await mapItemsInTurn(items, async (item) => {
    const current = rows.get(keyId(item.key, table));
    if (current === undefined) {
      throw await notFoundOrForbidden(
        { key: item.key, segment: formatKey(item.key) },
        write,
        connection,
      );
    }
    requirePrecondition(item.precondition, current, resource);
    // Rejects invalid values before any hook runs, unless the stored row contains them already.
    resolveUnchanged(current, item.values, resource);
    return { ...item, current };
  });
}
