import type { Connection } from "../../db/driver.ts";
import { allRows, and, type Filter } from "../../filter/filter.ts";
import { chunksOf, type Key, keyFilter, keyId, keyOf, keysFilter } from "../../plan/key.ts";
import { type Assignments, oneMore } from "../../plan/plan.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import { inTurn, type NamedItem } from "./batch_items.ts";
import { keysPerStatement, readByKeys, type RowsByKey } from "./read_rows_to_write.ts";
import type { WriteCall } from "../operation_call.ts";
import { itemPath } from "./body_path.ts";
import type { Resource } from "../define/resource.ts";
import { nextVersion, withNextVersion, withUpdateTime } from "./row_version.ts";
import { requireWithinScope } from "./within_scope.ts";
import { afterHook, deletePlan, updateReturning } from "./update_row.ts";

/** A locked row, as far as it was read, and what it is to become. */
export interface LockedRowUpdate {
  readonly current: Row;
  readonly values: ReadonlyMap<ColumnInfo, unknown>;
}

/** The same for a row that an item of a batch names. */
export type ItemUpdate = LockedRowUpdate & NamedItem;

/** The rows that a right reaches for a change: those it covers, can see, and that are not deleted. */
export function reachableRows({ grant, resource }: WriteCall): Filter {
  return and(grant.rows, grant.visible, resource.live);
}

/** What has to be read of rows before they are changed together. */
export function columnsToUpdate({ table, etag }: Resource): readonly ColumnInfo[] {
  return table.columns.filter((column) =>
    table.primaryKey.includes(column) || column === etag?.versionField ||
    column === etag?.updatedAtField
  );
}

/**
 * Changes locked rows, holds them against the scope and runs the after-hooks. Rows that become the
 * same share a statement. Gives the number of rows that were changed.
 */
export async function updateLockedRows(
  changes: readonly LockedRowUpdate[],
  write: WriteCall,
  connection: Connection,
): Promise<number> {
  const { resource } = write;
  const { table, hooks } = resource;
  const returning = hooks.onAfterUpdate === undefined ? [] : table.columns;
  const changed = new Map<string, Row>();
  let count = 0;
  for (const { set, keys } of sharedChanges(changes, resource)) {
    for (const some of chunksOf(keys, keysPerStatement(resource))) {
      const result = await changeByKeys(some, set, returning, resource, connection);
      count += result.count;
      for (const [id, row] of result.rows) changed.set(id, row);
    }
  }
  const keys = changes.map(({ current }) => keyOf(current, table));
  await requireWithinScope(write, keys, connection);
  for (const key of keys) {
    const row = changed.get(keyId(key, table));
    if (row !== undefined) await afterHook("onAfterUpdate", row, write, connection);
  }
  return count;
}

/**
 * Changes the locked rows of items, each in its own way, holds them against the scope and runs the
 * after-hooks. The rows come back in the order of the items.
 */
export async function updateItems(
  items: readonly ItemUpdate[],
  write: WriteCall,
  connection: Connection,
): Promise<readonly Row[]> {
  const { resource } = write;
  const { table, batch } = resource;
  const changed = await inTurn(items, async ({ key, values, current, precondition }) => {
    const next = batch.incrementVersion || precondition !== null ? withNextVersion : withUpdateTime;
    const set = next(values, current, resource);
    const row = await updateReturning(keyFilter(key, table), set, resource, connection);
    // The row is locked, so that only a trigger can have kept it as it was.
    if (row === null) {
      throw new Problem("validation-error", "Cannot update: the database did not keep the change");
    }
    return row;
  });
  const bodyPaths = items.map(({ index }) => itemPath(index));
  await requireWithinScope(write, items.map(({ key }) => key), connection, bodyPaths);
  for (const row of changed) await afterHook("onAfterUpdate", row, write, connection);
  return changed;
}

/** Deletes locked rows, or marks them deleted, and gives their number. */
export async function deleteByKeys(
  keys: readonly Key[],
  resource: Resource,
  connection: Connection,
): Promise<number> {
  let count = 0;
  for (const some of chunksOf(keys, keysPerStatement(resource))) {
    const plan = deletePlan(keysFilter(some, resource.table), resource);
    count += (await connection.query(resource.reader.compile(plan))).changed;
  }
  return count;
}

interface SharedChange {
  readonly set: Assignments;
  readonly keys: Key[];
}

/**
 * Rows that become the same, together. Their values are one object, and most rows have an older
 * time of update than now, so that most batches are one statement.
 */
function sharedChanges(
  changes: readonly LockedRowUpdate[],
  resource: Resource,
): readonly SharedChange[] {
  const { etag, batch, table, runtime } = resource;
  const version = batch.incrementVersion ? etag?.versionField ?? null : null;
  const moment = etag?.updatedAtField ?? null;
  const nowMs = runtime.clock.now();
  const byValues = new Map<LockedRowUpdate["values"], Map<string, SharedChange>>();
  for (const { current, values } of changes) {
    const isCounted = version !== null && !values.has(version) &&
      nextVersion(current[version.name]) !== null;
    const counted = isCounted ? new Map([...values, [version, oneMore]]) : values;
    const set = withUpdateTime(counted, current, resource, nowMs);
    const shared = byValues.get(values) ?? new Map<string, SharedChange>();
    const likeness = `${isCounted} ${moment === null ? "" : set.get(moment)}`;
    const same = shared.get(likeness) ?? { set, keys: [] };
    same.keys.push(keyOf(current, table));
    byValues.set(values, shared.set(likeness, same));
  }
  return [...byValues.values()].flatMap((shared) => [...shared.values()]);
}

/** `returning` is empty where nobody wants the rows. */
async function changeByKeys(
  keys: readonly Key[],
  set: Assignments,
  returning: readonly ColumnInfo[],
  resource: Resource,
  connection: Connection,
): Promise<{ readonly count: number; readonly rows: RowsByKey }> {
  const { table, reader } = resource;
  if (set.size === 0) {
    const rows: RowsByKey = returning.length === 0
      ? new Map()
      : await readByKeys({ keys, where: allRows, columns: returning }, resource, connection);
    return { count: keys.length, rows };
  }
  const plan = { kind: "update" as const, table, set, where: keysFilter(keys, table), returning };
  const { rows, changed } = await connection.query(reader.compile(plan));
  const named = returning.length === 0 ? [] : reader.toRows(rows, returning);
  return {
    count: changed,
    rows: new Map(named.map((row) => [keyId(keyOf(row, table), table), row])),
  };
}
