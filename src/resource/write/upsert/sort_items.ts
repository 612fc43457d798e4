import type { Grant } from "../../../auth/authorize.ts";
import type { Connection } from "../../../db/driver.ts";
import { allRows, and, type Filter } from "../../../filter/filter.ts";
import { rowMatches } from "../../../filter/match/row_matches.ts";
import { formatKey, type Key, type KeyColumns, keyId, keyOf } from "../../../plan/key.ts";
import { Problem } from "../../../problem/problem.ts";
import type { ColumnInfo, Row } from "../../../schema/table_info.ts";
import type { Resource } from "../../model/resource.ts";
import { parsePrecondition, preconditionFailed, requirePrecondition } from "../../http/etag.ts";
import { type KeyedItem, mapItemsInTurn } from "../values/batch_items.ts";
import { resolveUnchanged, valuesForNewRow } from "../values/echoed_values.ts";
import { invalidField, withoutImmutable } from "../values/parse_fields.ts";
import { RowsChanged } from "../rows_changed.ts";
import { readByKeys, type RowsByKey } from "../read_rows_to_write.ts";
import type { ItemUpdate } from "../update_locked_rows.ts";
import { withoutKey } from "../row_target.ts";
import type { UniqueKey } from "./unique_key.ts";

/** An item of an upsert. When its row has been found, `key` is the row's primary key. */
export interface UpsertItem extends KeyedItem {
  /** The values of the unique key that identify the row. */
  readonly name: Key;
}

/** The items whose rows exist and the items to create, each in the order of the batch. */
export interface SortedItems {
  readonly existing: readonly (UpsertItem & ItemUpdate)[];
  readonly fresh: readonly UpsertItem[];
}

export interface ItemsToSort {
  readonly items: readonly UpsertItem[];
  readonly by: UniqueKey;
  readonly update: Grant;
  /** True if a row's version is incremented, as by a PATCH, which can require an ETag. */
  readonly isCounted: boolean;
  /** The indexes of the items whose row existed before the hooks. Absent before the hooks. */
  readonly expected?: ReadonlySet<number>;
}

/**
 * Sorts the items into existing and new rows, and locks the rows. Throws a 403 for a row outside
 * the scope, before stored values can influence the result. Throws a 409 for a row that is marked
 * as deleted, and a 412 for a precondition that does not hold.
 */
export async function sortItems(
  { items, by, update, isCounted, expected }: ItemsToSort,
  resource: Resource,
  connection: Connection,
): Promise<SortedItems> {
  const { table } = resource;
  const where = by.rows ?? allRows;
  const what = { keys: items.map(({ name }) => name), by, where, lock: true as const };
  const scope = and(update.rows, update.visible);
  let reached: RowsByKey | null = null;
  if (scope.kind !== "all") {
    const columns = [...new Set([...table.primaryKey, ...by.primaryKey])];
    reached = await readByKeys({ ...what, columns }, resource, connection);
    await requireInScope(foundOf(items, reached, by, resource), scope, resource, connection);
  }
  const rows = await readByKeys({ ...what, columns: resource.stored }, resource, connection);
  // Another request has created or deleted a row since the rows were checked.
  if (reached !== null && rows.size !== reached.size) throw new RowsChanged("upsert");
  const found = foundOf(items, rows, by, resource);
  const isSame = expected === undefined ||
    expected.size === found.length && found.every(({ index }) => expected.has(index));
  if (!isSame) throw new RowsChanged("upsert");
  const existing = await mapItemsInTurn(found, (item) => {
    const values = changesOf(item, by, resource);
    requireUpdatable({ ...item, values }, resource);
    if (isCounted) parsePrecondition(item.precondition, resource);
    // After the hooks, `values` can contain immutable columns, which only hooks can set.
    return expected === undefined
      ? { ...item, values: withoutImmutable(withoutName(values, by), resource) }
      : { ...item, values };
  });
  const fresh = await mapItemsInTurn(
    items.filter(({ name }) => !rows.has(keyId(name, by))),
    (item) => {
      requireCreatable(item, by);
      return { ...item, values: valuesForNewRow(item.values) };
    },
  );
  return { existing, fresh };
}

function foundOf(
  items: readonly UpsertItem[],
  rows: RowsByKey,
  by: KeyColumns,
  { table }: Resource,
): readonly (UpsertItem & { readonly current: Row })[] {
  return items.flatMap((item) => {
    const current = rows.get(keyId(item.name, by));
    return current === undefined ? [] : [{ ...item, current, key: keyOf(current, table) }];
  });
}

function changesOf(
  { values, key }: ItemUpdate,
  by: KeyColumns,
  resource: Resource,
): ReadonlyMap<ColumnInfo, unknown> {
  return by === resource.table
    ? withoutKey(values, key, resource)
    : withoutKey(values, key, resource, "is not that of the row which the item names");
}

/** Removes the values of the unique key, because the stored row already has equal values. */
function withoutName(
  values: ReadonlyMap<ColumnInfo, unknown>,
  { primaryKey }: KeyColumns,
): ReadonlyMap<ColumnInfo, unknown> {
  return new Map([...values].filter(([column]) => !primaryKey.includes(column)));
}

/** Throws a 403 for a row that the user cannot see, because a new row cannot have its key. */
async function requireInScope(
  items: readonly KeyedItem[],
  where: Filter,
  resource: Resource,
  connection: Connection,
): Promise<void> {
  const { table } = resource;
  const what = { keys: items.map(({ key }) => key), where, columns: table.primaryKey };
  const reached = await readByKeys(what, resource, connection);
  await mapItemsInTurn(items, ({ key }) => {
    if (reached.has(keyId(key, table))) return;
    throw new Problem("forbidden", "Cannot update: the row lies outside your scope");
  });
}

function requireUpdatable(item: ItemUpdate, resource: Resource): void {
  const { key, current, precondition } = item;
  if (!rowMatches(resource.undeleted, current)) {
    const id = formatKey(key).slice(0, 100);
    throw new Problem(
      "conflict",
      `Cannot update ${id}: it is deleted, and stays so until restored`,
    );
  }
  requirePrecondition(precondition, current, resource);
  resolveUnchanged(current, item.values, resource);
}

function requireCreatable({ precondition }: KeyedItem, by: KeyColumns): void {
  if (precondition !== null) throw preconditionFailed(null);
  const column = by.primaryKey.find(({ generated }) => generated);
  if (column === undefined) return;
  throw invalidField("names no row, and only the database gives new rows their key", column.name);
}
