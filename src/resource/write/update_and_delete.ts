import type { Connection } from "../../db/driver.ts";
import { fetchRows } from "../../db/rows.ts";
import { and, type Filter, reachesTable } from "../../filter/filter.ts";
import { hasEchoedValue } from "../../plan/echoed_value.ts";
import { changedValues, resolveUnchanged } from "./values/echoed_values.ts";
import type { Assignments, DeletePlan, UpdatePlan } from "../../plan/plan.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";
import type { WriteCall } from "../model/operation.ts";
import { wholeBody } from "./values/batch_items.ts";
import { toFailedWrite } from "./refused/failed_write.ts";
import type { WriteConnection } from "./transaction/in_transaction.ts";
import {
  lockRow,
  lockTarget,
  requireWithinScope,
  type RowTarget,
  scopeOfStatement,
  scopeProblem,
  severalRows,
  targetNotWritten,
  writableTarget,
} from "./row_target.ts";
import { readAgain, readPlan, slicesOf } from "./read_rows_to_write.ts";
import { requireChangedRows } from "./insert_rows.ts";
import { expectedVersion, sameVersion, withNextVersion } from "./row_version.ts";
import { afterDelete, afterWrite } from "./run_hooks.ts";
import { type Key, keyId, keyOf, keysFilter } from "../../plan/key.ts";
import { instantOf } from "../../schema/instant.ts";

export async function updateRow(
  { target, set, readsFirst }: {
    readonly target: RowTarget;
    readonly set: Assignments;
    /** True to read the stored row first, so that the update sets only changed values. */
    readonly readsFirst: boolean;
  },
  write: WriteCall,
  connection: WriteConnection,
): Promise<Row> {
  const { resource } = write;
  const where = writableTarget(target, write);
  const isRead = readsFirst || resource.etag !== null || hasEchoedValue(set) ||
    reachesTable(write.grant.rows, resource.table);
  const current = isRead ? await lockTarget(target, write, connection) : null;
  const values = current === null ? set : resolveUnchanged(current, set, resource);
  return await updateIfSameVersion({ target, current, where, set: values }, write, connection);
}

export async function updateIfSameVersion(
  { target, current, where, set }: {
    readonly target: RowTarget;
    readonly current: Row | null;
    readonly where: Filter;
    readonly set: Assignments;
  },
  write: WriteCall,
  connection: WriteConnection,
): Promise<Row> {
  const { resource } = write;
  const changes = changedValues(withNextVersion(set, current, resource), current, resource);
  const scope = changes.size === 0 ? {} : scopeOfStatement(write, connection);
  const unchanged = { where: and(where, sameVersion(current, resource)), ...scope };
  const row = await updateReturning(unchanged, changes, resource, connection);
  if (row === null) throw await targetNotWritten(target, current, write, connection);
  if (scope.within === undefined) await requireWithinScope(write, [target.key], connection);
  if (current !== null && reachesTable(write.grant.rows, resource.table)) {
    await requireChangedRows([{ current, values: changes }], write, connection);
  }
  const isFinal = resource.hooks.onAfterUpdate === undefined;
  connection.noteWritten([target.key], resource, isFinal ? [row] : null);
  await afterWrite("onAfterUpdate", row, write, connection);
  return row;
}

/** If there are no values, only reads the row. */
export async function updateReturning(
  { where, within }: Pick<UpdatePlan, "where" | "within">,
  set: Assignments,
  resource: Resource,
  connection: Connection,
): Promise<Row | null> {
  if (set.size === 0) return await lockRow(where, resource, connection);
  const { table, reader, stored: returning } = resource;
  const plan = { kind: "update" as const, table, set, where, returning };
  try {
    const { rows } = await fetchRows(
      connection,
      within === undefined ? plan : { ...plan, within },
      reader,
    );
    if (rows.length > 1) throw severalRows("update");
    const isRead = rows.length === 1 && table.view?.isTriggered === true;
    return (isRead ? await readAgain(rows, resource, connection, "update") : rows)[0] ?? null;
  } catch (error) {
    throw toFailedWrite(
      scopeProblem(error, "update"),
      resource,
      () => [{ ...wholeBody, values: set }],
    );
  }
}

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
  // SQLite does not count rows that a view's trigger deletes, so the returned keys are counted.
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
