import type { Connection } from "../../db/driver.ts";
import { fetchRows } from "../../db/rows.ts";
import { and, type Filter } from "../../filter/filter.ts";
import { type Key, keyId, keyOf, keysFilter } from "../../plan/key.ts";
import type { DeletePlan, UpdatePlan } from "../../plan/plan.ts";
import { instantOf } from "../../schema/instant.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";
import type { WriteCall } from "../model/operation.ts";
import type { WriteConnection } from "./transaction/in_transaction.ts";
import { readPlan } from "./read_rows_to_write.ts";
import { slicesOf } from "./slices.ts";
import {
  lockTarget,
  type RowTarget,
  severalRows,
  targetNotWritten,
  writableTarget,
} from "./row_target.ts";
import { expectedVersion, sameVersion } from "./row_version.ts";
import { afterDelete } from "./run_hooks.ts";

/** Deletes a row or marks it as deleted, and runs the after-hook. Throws 404, 403 or 412. */
export async function deleteRow(
  target: RowTarget,
  write: WriteCall,
  connection: WriteConnection,
): Promise<void> {
  const { resource } = write;
  const expected = expectedVersion(target.precondition, resource);
  const current = expected === null ? await lockTarget(target, write, connection) : null;
  const where = and(writableTarget(target, write), expected ?? sameVersion(current, resource));
  const { count, rows } = await runDelete(where, resource, connection);
  if (count === 0) throw await targetNotWritten(target, current, write, connection);
  if (count > 1) throw severalRows("delete");
  connection.noteWritten([target.key], resource);
  for (const row of rows) await afterDelete(row, write, connection);
}

/** Deletes locked rows or marks them as deleted, and runs the after-hooks. Returns their number. */
export async function deleteLockedRows(
  keys: readonly Key[],
  write: WriteCall,
  connection: WriteConnection,
): Promise<number> {
  const { resource } = write;
  const deleted = new Map<string, Row>();
  let total = 0;
  await slicesOf(resource)(keys, async (some) => {
    const where = keysFilter(some, resource.table);
    const { count, rows } = await runDelete(where, resource, connection);
    total += count;
    for (const row of rows) deleted.set(keyId(keyOf(row, resource.table), resource.table), row);
  });
  connection.noteWritten(keys, resource);
  for (const key of keys) {
    const row = deleted.get(keyId(key, resource.table));
    if (row !== undefined) await afterDelete(row, write, connection);
  }
  return total;
}

async function runDelete(
  where: Filter,
  resource: Resource,
  connection: WriteConnection,
) {
  const { hooks, reader, table } = resource;
  const isRead = hooks.onAfterDelete !== undefined && connection.inserts === "read-back";
  // SQLite counts no rows that a trigger of a view deletes.
  const counted = table.view === null || isRead ? [] : table.primaryKey;
  const returning = hooks.onAfterDelete === undefined || isRead ? counted : resource.stored;
  const before = isRead ? await readRows(where, resource, connection) : [];
  const statement = reader.compile(deletePlan(where, returning, resource));
  const { rows, changed } = await connection.query(statement);
  if (returning.length > 0) return { count: changed, rows: reader.toRows(rows, returning) };
  const keys = before.map((row) => keyOf(row, table));
  const isMarked = before.length > 0 && resource.softDelete !== null;
  const after = isMarked ? await readRows(keysFilter(keys, table), resource, connection) : before;
  return { count: changed, rows: after };
}

/** Reads the rows of a table on which a Postgres rule prevents RETURNING. */
async function readRows(
  where: Filter,
  { table, reader, stored: columns }: Resource,
  connection: Connection,
): Promise<readonly Row[]> {
  const plan = { ...readPlan(table, columns, where), lock: true as const };
  return (await fetchRows(connection, plan, reader)).rows;
}

function deletePlan(
  where: Filter,
  returning: readonly ColumnInfo[],
  { softDelete, table, runtime }: Resource,
): DeletePlan | UpdatePlan {
  if (softDelete === null) return { kind: "delete", table, where, returning };
  const set = new Map([[softDelete.field, softDelete.mark(instantOf(runtime.clock.now()))]]);
  return { kind: "update", table, where, set, returning };
}
