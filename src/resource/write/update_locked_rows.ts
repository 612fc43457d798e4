import type { Connection } from "../../db/driver.ts";
import { allRows } from "../../filter/filter.ts";
import { type Key, keyFilter, keyId, keyOf, keysFilter } from "../../plan/key.ts";
import { type Assignments, incrementedValue } from "../../plan/plan.ts";
import { Problem } from "../../problem/problem.ts";
import { catching } from "../../runtime/maybe_promise.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import { type KeyedItem, mapItemsInTurn, patchPath } from "./values/batch_items.ts";
import { createYieldTurn } from "../../runtime/runtime.ts";
import { readByKeys, type RowsByKey, type RunInSlices, slicesOf } from "./read_rows_to_write.ts";
import type { BodyPath, WriteCall } from "../model/operation.ts";
import type { WriteConnection } from "./transaction/in_transaction.ts";
import {
  changedValues,
  equalsStoredValue,
  foreignKeyColumnsOf,
  resolveUnchanged,
} from "./values/echoed_values.ts";
import { toFailedWrite } from "./refused/failed_write.ts";
import type { Resource } from "../model/resource.ts";
import { nextVersion, withNextVersion, withUpdateTime } from "./row_version.ts";
import type { LockedRow } from "./write_matching_rows.ts";
import { requireChangedRows } from "./insert_rows.ts";
import { requireWithinScope } from "./row_target.ts";
import { afterWrite } from "./run_hooks.ts";
import { updateReturning } from "./update_and_delete.ts";

export type LockedRowUpdate = LockedRow<ReadonlyMap<ColumnInfo, unknown>>;

export type ItemUpdate = LockedRowUpdate & KeyedItem;

export function columnsToUpdate({ table, etag, stored }: Resource): readonly ColumnInfo[] {
  const references = foreignKeyColumnsOf(table);
  return stored.filter((column) =>
    table.primaryKey.includes(column) || column === etag?.versionField ||
    column === etag?.updatedAtField || references.has(column.dbName)
  );
}

export async function updateLockedRows(
  updates: readonly LockedRowUpdate[],
  write: WriteCall,
  connection: WriteConnection,
): Promise<number> {
  const { resource } = write;
  const { table, hooks, batch } = resource;
  // SQLite does not count rows that a view's trigger updates, so the returned keys are counted.
  const counted = table.view === null ? [] : table.primaryKey;
  const returning = hooks.onAfterUpdate === undefined ? counted : resource.stored;
  const changed = new Map<string, Row>();
  let count = 0;
  const inSlices = slicesOf(resource);
  for (const { set, keys } of groupSharedUpdates(updates, resource, batch.incrementVersion)) {
    const shared = { set, keys, returning, bodyPath: patchPath, inSlices };
    const result = await updateByKeys(shared, resource, connection);
    count += result.count;
    for (const [id, row] of result.rows) changed.set(id, row);
  }
  const keys = updates.map(({ current }) => keyOf(current, table));
  await requireWithinScope(write, keys, connection);
  await requireChangedRows(updates, write, connection);
  connection.noteWritten(keys, resource);
  for (const key of keys) {
    const row = changed.get(keyId(key, table));
    if (row !== undefined) await afterWrite("onAfterUpdate", row, write, connection);
  }
  return count;
}

/** Returns the rows in the order of the items. `isCounted` is true to increment their versions. */
export async function updateItems(
  items: readonly ItemUpdate[],
  write: WriteCall,
  connection: WriteConnection,
  isCounted: boolean = write.resource.batch.incrementVersion,
): Promise<readonly Row[]> {
  const { resource } = write;
  const { table } = resource;
  const yieldTurn = createYieldTurn(resource.runtime.clock);
  const changed = await mapItemsInTurn(items, async ({ key, values, current, precondition }) => {
    await yieldTurn();
    const next = isCounted || precondition !== null ? withNextVersion : withUpdateTime;
    const set = next(resolveUnchanged(current, values, resource), current, resource);
    const changes = changedValues(set, current, resource);
    const row = await updateReturning(
      { where: keyFilter(key, table) },
      changes,
      resource,
      connection,
    );
    // The row is locked, so only a trigger or a rule can have prevented the change.
    if (row === null) {
      throw new Problem("validation-error", "Cannot update: the database did not keep the change");
    }
    return row;
  });
  const bodyPaths = items.map(({ bodyPath }) => bodyPath);
  const keys = items.map(({ key }) => key);
  await requireWithinScope(write, keys, connection, bodyPaths);
  await requireChangedRows(items, write, connection, bodyPaths);
  connection.noteWritten(keys, resource);
  for (const row of changed) await afterWrite("onAfterUpdate", row, write, connection);
  return changed;
}

export interface SharedUpdate {
  readonly set: Assignments;
  readonly keys: readonly Key[];
}

export function groupSharedUpdates(
  updates: readonly LockedRowUpdate[],
  resource: Resource,
  incrementVersion: boolean,
): readonly SharedUpdate[] {
  const { etag, table, runtime } = resource;
  const version = incrementVersion ? etag?.versionField ?? null : null;
  const moment = etag?.updatedAtField ?? null;
  const nowMs = runtime.clock.now();
  const references = foreignKeyColumnsOf(table);
  const byValues = new Map<
    LockedRowUpdate["values"],
    Map<string, { set: Assignments; keys: Key[] }>
  >();
  for (const { current, values } of updates) {
    const isCounted = version !== null && !values.has(version) &&
      nextVersion(current[version.name]) !== null;
    const counted = isCounted ? new Map([...values, [version, incrementedValue]]) : values;
    const kept = [...values].flatMap(([column, value]) =>
      references.has(column.dbName) && equalsStoredValue(value, current[column.name])
        ? [column]
        : []
    );
    const set = new Map(withUpdateTime(counted, current, resource, nowMs));
    for (const column of kept) set.delete(column);
    const shared = byValues.get(values) ?? new Map<string, { set: Assignments; keys: Key[] }>();
    const likeness = JSON.stringify([
      ...[isCounted, moment === null ? "" : set.get(moment)],
      ...kept.map(({ name }) => name),
    ]);
    const same = shared.get(likeness) ?? { set, keys: [] };
    same.keys.push(keyOf(current, table));
    byValues.set(values, shared.set(likeness, same));
  }
  return [...byValues.values()].flatMap((shared) => [...shared.values()]);
}

export interface KeyedUpdate extends SharedUpdate {
  readonly returning: readonly ColumnInfo[];
  readonly bodyPath: BodyPath;
}

export async function updateByKeys(
  { keys, inSlices, ...update }: KeyedUpdate & { readonly inSlices: RunInSlices },
  resource: Resource,
  connection: Connection,
): Promise<{ readonly count: number; readonly rows: RowsByKey }> {
  const rows = new Map<string, Row>();
  let count = 0;
  await inSlices(keys, async (some) => {
    const result = await updateSome({ ...update, keys: some }, resource, connection);
    count += result.count;
    for (const [id, row] of result.rows) rows.set(id, row);
  });
  return { count, rows };
}

async function updateSome(
  { keys, set, returning, bodyPath }: KeyedUpdate,
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
  const { rows, changed } = await catching(
    () => connection.query(reader.compile(plan)),
    (error) => {
      throw toFailedWrite(error, resource, () => [{ ...bodyPath, values: set }]);
    },
  );
  const named = returning.length === 0 ? [] : reader.toRows(rows, returning);
  return {
    count: changed,
    rows: new Map(named.map((row) => [keyId(keyOf(row, table), table), row])),
  };
}
