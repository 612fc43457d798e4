import type { Grant } from "../auth/authorize.ts";
import type { Connection } from "../db/driver.ts";
import { and, type Filter } from "../filter/filter.ts";
import { type Key, keyId, keyOf } from "../plan/key.ts";
import { answer } from "./answer.ts";
import { readBatchFilter } from "./batch_body.ts";
import { reachableRows, removeByKeys } from "./batch_change.ts";
import { lockMatching, readByKeys } from "./batch_read.ts";
import { hookedDelete } from "./before_hooks.ts";
import type { Write } from "./call.ts";
import { inTransaction } from "./in_transaction.ts";
import type { Operation } from "./operation.ts";
import { afterDelete } from "./write_row.ts";

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
    return readBatchFilter(body, resource);
  },

  plan(filter, grant) {
    return { filter, grant };
  },

  async execute({ filter, grant }, call) {
    const write = { ...call, grant };
    const { resource } = call;
    const where = and(filter, reachableRows(write));
    const hooked = resource.hooks.onBeforeDelete === undefined
      ? null
      : await hookedKeys(where, write);
    return await inTransaction(call, async (connection) => {
      const keys = hooked === null
        ? await lockKeys(where, write, connection)
        : await lockHooked(hooked, where, write, connection);
      const count = await removeByKeys(keys, resource, connection);
      for (const key of keys) await afterDelete(key, write, connection);
      return count;
    });
  },

  shape(count) {
    return answer(200, { count });
  },
};

async function hookedKeys(where: Filter, write: Write): Promise<readonly Key[]> {
  const keys = await lockKeys(where, write, write.resource.driver);
  for (const key of keys) await hookedDelete(key, write);
  return keys;
}

async function lockKeys(
  where: Filter,
  write: Write,
  connection: Connection,
): Promise<readonly Key[]> {
  const { table, batch } = write.resource;
  const what = { where, columns: table.primaryKey, limit: batch.delete };
  const rows = await lockMatching(what, write, connection);
  return rows.map((row) => keyOf(row, table));
}

/** Of the rows that the hook has seen those that the filter still matches. */
async function lockHooked(
  keys: readonly Key[],
  where: Filter,
  { resource }: Write,
  connection: Connection,
): Promise<readonly Key[]> {
  const { table } = resource;
  const what = { keys, where, columns: table.primaryKey, lock: true as const };
  const rows = await readByKeys(what, resource, connection);
  return keys.filter((key) => rows.has(keyId(key, table)));
}
