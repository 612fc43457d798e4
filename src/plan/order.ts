import { didYouMean } from "../problem/nearest_name.ts";
import { invalidParameter, type Problem } from "../problem/problem.ts";
import {
  nameOfItem,
  quoteName,
  readQuotedName,
  splitNames,
  splitPath,
} from "../filter/syntax/quoted_name.ts";
import { isDocument, isSortable } from "../schema/structured/structured_value.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { SqlValue } from "../sql/fragment.ts";
import type { OrderKey } from "./plan.ts";

const maxKeys = 8;

export interface OrderFields {
  readonly sortable: Pick<ReadonlySet<ColumnInfo>, "has">;
  readonly readable: readonly ColumnInfo[];
  /** Returns the columns along a dotted name, or none if the name leads to no sortable value. */
  readonly follow?: (name: string) => readonly ColumnInfo[];
}

/**
 * Parses `orderBy=rank:desc,-created,title`. Appends the primary key, or all readable columns if
 * there is none, so that no two rows are equal in the order. Without `orderBy`, the rows of a
 * function keep their order. Unknown and unsortable columns fail with the same 400.
 */
export function parseOrder(
  text: string | null,
  table: TableInfo,
  fields: OrderFields,
): readonly OrderKey[] {
  const keys = parseOrderKeys(text, table, fields);
  if (table.keepsOrder && keys.length === 0) return keys;
  const order = table.primaryKey.length === 0
    ? widestOrder(keys, fields)
    : completeOrder(keys, table);
  return table.keepsOrder ? order.map((key) => ({ ...key, isNullable: true })) : order;
}

export function parseGroupOrder(
  text: string | null,
  table: TableInfo,
  fields: OrderFields,
): readonly OrderKey[] {
  return completeOrder(parseOrderKeys(text, table, fields), table);
}

/** Returns the canonical string of an order. A cursor is valid only for an equal string. */
export function printOrder(order: readonly OrderKey[]): string {
  return order.map(({ column, descending }) =>
    `${quoteName(column.name)}:${descending ? "desc" : "asc"}`
  )
    .join(",");
}

export function keysetPosition(
  stored: readonly SqlValue[],
  columns: readonly ColumnInfo[],
  order: readonly OrderKey[],
): readonly SqlValue[] {
  return order.map(({ column }) => stored[columns.indexOf(column)] ?? null);
}

function parseOrderKeys(
  text: string | null,
  table: TableInfo,
  fields: OrderFields,
): readonly OrderKey[] {
  const items = text === null || text === "" ? [] : splitNames(text);
  if (items.length > maxKeys) {
    throw invalidParameter(`Cannot order by more than ${maxKeys} fields`);
  }
  const keys: OrderKey[] = [];
  for (const item of items) {
    const added = parseOrderKey(item, table, fields);
    if (keys.some((other) => added.some(({ column }) => column.name === other.column.name))) {
      throw orderProblem(item, " twice");
    }
    keys.push(...added);
  }
  return keys;
}

function parseOrderKey(
  item: string,
  table: TableInfo,
  { sortable, readable, follow }: OrderFields,
): readonly OrderKey[] {
  const minus = item.startsWith("-");
  const written = minus ? item.slice(1) : item;
  const quoted = written.startsWith('"') ? readQuotedName(written, 0) : null;
  const colon = written.indexOf(":", quoted?.end ?? 0);
  if (minus && colon >= 0) throw orderProblem(item, directions);
  const path = colon >= 0 ? written.slice(0, colon) : written;
  const name = nameOfItem(path);
  const direction = colon >= 0 ? written.slice(colon + 1) : minus ? "desc" : "asc";
  if (direction !== "asc" && direction !== "desc") throw orderProblem(item, directions);
  const column = table.byName.get(name);
  const descending = direction === "desc";
  const added = column === undefined ? follow?.(path) ?? [] : [];
  if (added.length > 0) return added.map((column) => ({ column, descending }));
  if (column === undefined || !sortable.has(column) || !isSortable(column)) {
    // The client may mean `name desc` as in SQL. The message must not reveal whether `name` exists.
    if (endsWithDirection(name)) throw orderProblem(item, directions);
    const known = readable.filter((column) => sortable.has(column));
    const source = known.find(({ name }) => name === splitPath(path)[0]);
    if (column === undefined && source !== undefined && isDocument(source)) {
      const places = "in include, groups and live streams, and in tables without a key";
      throw orderProblem(name, `: values within a document have no order ${places}`);
    }
    const hint = column !== undefined && known.includes(column)
      ? ", its type has no order"
      : name.includes("(")
      ? ". Write a field of a related row as relation.field"
      : didYouMean(name, known.filter(isSortable).map(({ name }) => name));
    throw orderProblem(name, `: it is not a sortable field${hint}`);
  }
  return [{ column, descending }];
}

function completeOrder(keys: readonly OrderKey[], table: TableInfo): readonly OrderKey[] {
  const order: OrderKey[] = [];
  const missing = new Set(table.primaryKey);
  for (const key of keys) {
    // After a unique key, further keys have no effect.
    if (missing.size === 0 && table.distinct) return order;
    missing.delete(key.column);
    order.push(key);
  }
  for (const column of missing) order.push({ column, descending: false });
  return order;
}

function widestOrder(keys: readonly OrderKey[], { readable }: OrderFields): readonly OrderKey[] {
  const named = new Set(keys.map(({ column }) => column));
  const others = readable.filter((column) => !named.has(column) && isSortable(column));
  return [...keys, ...others.map((column) => ({ column, descending: false }))];
}

const directions = ": write field:asc, field:desc or -field";

/** Returns true for `name desc` and `name.desc`, the notations of other query languages. */
export function endsWithDirection(name: string): boolean {
  return /[ .](?:asc|desc)$/i.test(name);
}

export function orderProblem(item: string, reason: string): Problem {
  return invalidParameter(`Cannot order by "${item.slice(0, 20)}"${reason}`);
}

/** Returns true if a column's values can differ between statements, so that cursors count rows. */
export function isCounted(order: readonly OrderKey[]): boolean {
  return order.some(({ column }) => column.varies && !column.primaryKey);
}
