import type { Grant } from "../../../auth/authorize.ts";
import type { Connection } from "../../../db/driver.ts";
import { allRows, and, type Filter } from "../../../filter/filter.ts";
import { rowMatches } from "../../../filter/match/row_matches.ts";
import { valueForHook } from "../../../plan/echoed_value.ts";
import { formatKey, type Key, type KeyColumns, keyId, keyOf } from "../../../plan/key.ts";
import { invalidParameter, Problem } from "../../../problem/problem.ts";
import type { ColumnInfo, Row } from "../../../schema/table_info.ts";
import type { Resource } from "../../model/resource.ts";
import { parsePrecondition, preconditionFailed, requirePrecondition } from "../../http/etag.ts";
import { type KeyedItem, mapItemsInTurn } from "../values/batch_items.ts";
import { resolveUnchanged, valuesForNewRow } from "../values/echoed_values.ts";
import {
  invalidField,
  mayWrite,
  type ParseFields,
  parseRow,
  withoutImmutable,
} from "../values/parse_fields.ts";
import { readByKeys, type RowsByKey } from "../read_rows_to_write.ts";
import type { ItemUpdate } from "../update_locked_rows.ts";
import { RowsChanged, withoutKey } from "../row_target.ts";
import { canonicalFilterText } from "../../../filter/canonical_filter.ts";
import { nameOfItem, quoteName, splitNames } from "../../../filter/syntax/quoted_name.ts";
import { conditionSql, type SqlCondition } from "../../../schema/table_constraints.ts";
import { parseUserFilter } from "../../read/user_filter.ts";
import { parseIndexCondition } from "./index_condition.ts";

export interface UniqueKey extends KeyColumns {
  /** The rows of a partial unique index. Absent if the key is unique among all rows. */
  readonly rows?: Filter;
}

interface NamedKey extends UniqueKey {
  /** The key as the parameter `on`: `email`, `team,slug` or `email(deletedAt==null)`. */
  readonly name: string;
}

/** Returns the unique keys for upserts. Each field of these keys is readable and writable. */
export function uniqueKeysOf(resource: Resource): readonly NamedKey[] {
  const { table, fields } = resource;
  const byDbName = new Map(table.columns.map((column) => [column.dbName, column]));
  const columnsOf = (names: readonly string[]) => names.flatMap((name) => byDbName.get(name) ?? []);
  const unique = table.indexes.filter((index) => index.unique);
  const keys = [
    table.primaryKey,
    ...table.columns.filter(({ unique }) => unique).map((column) => [column]),
    ...table.uniques.map(columnsOf),
    ...unique.filter(({ where }) => where === null).map(({ columns }) => columnsOf(columns)),
  ].map((columns): NamedKey => ({ primaryKey: columns, name: namesOf(columns) }));
  const partial = unique.flatMap(({ columns, where }) =>
    where === null ? [] : partialKey(columnsOf(columns), where, resource)
  );
  const known = new Set<string>();
  return [...keys, ...partial].filter(({ primaryKey, rows }) => {
    const id = JSON.stringify(primaryKey.map(({ name }) => name).toSorted()) +
      (rows === undefined ? "" : canonicalFilterText(rows));
    const isUsable = primaryKey.length > 0 && !known.has(id) &&
      primaryKey.every((column) => fields.readable.includes(column) && mayWrite(column, resource));
    if (isUsable) known.add(id);
    return isUsable;
  });
}

function partialKey(
  columns: readonly ColumnInfo[],
  where: SqlCondition,
  resource: Resource,
): readonly NamedKey[] {
  const { table, fields, driver } = resource;
  const condition = parseIndexCondition(conditionSql(where, driver.dialect), table.columns);
  if (condition === null || !condition.columns.every((one) => fields.readable.includes(one))) {
    return [];
  }
  try {
    const rows = parseUserFilter(condition.filter, resource);
    const name = `${namesOf(columns)}(${condition.filter})`;
    return rows === null ? [] : [{ primaryKey: columns, rows, name }];
  } catch (error) {
    // Omits an index if the user may not filter by its columns, or if a constant in it is invalid.
    if (error instanceof Problem) return [];
    throw error;
  }
}

export function mayUpsert(resource: Resource): boolean {
  const { enableCreate, enableUpdate } = resource.capabilities;
  return enableCreate && enableUpdate && uniqueKeysOf(resource).length > 0;
}

export const uniqueKeyParameter: ReadonlySet<string> = new Set(["on"]);

/** Returns the unique key that `on` names, or the primary key. Throws a 400 for an unknown key. */
export function parseUniqueKey(text: string | undefined, resource: Resource): UniqueKey {
  const { table } = resource;
  if (text === undefined) return table;
  const [, columns = text, condition] = /^((?:"(?:[^"\\]|\\.)*"|[^"(])*)\((.*)\)$/s.exec(text) ??
    [];
  const names = splitNames(columns).map(nameOfItem);
  const keys = uniqueKeysOf(resource);
  const rows = condition === undefined ? null : parseUserFilter(condition, resource);
  const wanted = rows === null ? null : canonicalFilterText(rows);
  const found = keys.find(({ primaryKey, rows }) =>
    primaryKey.length === names.length &&
    primaryKey.every(({ name }) => names.includes(name)) &&
    (rows === undefined ? null : canonicalFilterText(rows)) === wanted
  );
  if (found === undefined) throw notUnique(text, keys);
  return found.primaryKey === table.primaryKey ? table : found;
}

/** Returns the parser of an item. It throws a 422 for a value that the partial index excludes. */
export function parseItemOf({ rows }: UniqueKey): ParseFields {
  const terms = rows === undefined ? [] : rows.kind === "and" ? rows.terms : [rows];
  return (body, resource, others) => {
    const values = parseRow(body, resource, others);
    for (const term of terms) {
      if (term.kind !== "compare" || !values.has(term.column)) continue;
      const { column, column: { name, databaseType, looseCollation } } = term;
      const value = valueForHook(values.get(column)) ?? null;
      // Only the database can compare these values.
      if (value !== null && (databaseType !== undefined || looseCollation)) continue;
      if (rowMatches(term, { [name]: value })) continue;
      throw invalidField('must match the condition in "on", as a row outside of it is new', name);
    }
    return values;
  };
}

function notUnique(text: string, keys: readonly NamedKey[]): Problem {
  const shown = JSON.stringify(text.slice(0, 100));
  const known = keys.length === 0
    ? "there is none that this request could use"
    : `use ${keys.slice(0, 20).map(({ name }) => `on=${name}`).join(" or ")}`;
  return invalidParameter(`Cannot upsert on ${shown}: it is no unique key; ${known}`);
}

function namesOf(columns: readonly ColumnInfo[]): string {
  return columns.map(({ name }) => quoteName(name)).join(",");
}

/** An item of an upsert. `key` is the primary key if the row was found, else the unique key. */
export interface UpsertItem extends KeyedItem {
  readonly name: Key;
}

export interface SortedItems {
  readonly existing: readonly (UpsertItem & ItemUpdate)[];
  readonly fresh: readonly UpsertItem[];
}

export interface ItemsToSort {
  readonly items: readonly UpsertItem[];
  readonly by: UniqueKey;
  readonly update: Grant;
  /** True if an update increments the version and can require `If-Match`, like a PATCH of a row. */
  readonly isCounted: boolean;
  /** The indexes of the items whose row existed before the hooks. Absent until hooks have run. */
  readonly expected?: ReadonlySet<number>;
}

/**
 * Sorts the items into existing and new rows, and locks the rows. Throws a 403 for a row outside
 * the scope, a 409 for a deleted row, and a 412 if a precondition fails.
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
    const values = by === resource.table
      ? withoutKey(item.values, item.key, resource)
      : withoutKey(item.values, item.key, resource, "is not that of the row which the item names");
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

/** Removes the values of the unique key, because the stored row already has equal values. */
function withoutName(
  values: ReadonlyMap<ColumnInfo, unknown>,
  { primaryKey }: KeyColumns,
): ReadonlyMap<ColumnInfo, unknown> {
  return new Map([...values].filter(([column]) => !primaryKey.includes(column)));
}

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
