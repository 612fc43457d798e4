import { canonicalFilterText } from "../../../filter/canonical_filter.ts";
import type { Filter } from "../../../filter/filter.ts";
import { nameOfItem, quoteName, splitNames } from "../../../filter/syntax/quoted_name.ts";
import type { KeyColumns } from "../../../plan/key.ts";
import { Problem } from "../../../problem/problem.ts";
import { conditionSql } from "../../../schema/table_constraints.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";
import type { Resource } from "../../model/resource.ts";
import { parseUserFilter } from "../../read/user_filter.ts";
import { mayWrite } from "../values/parse_fields.ts";
import { parseIndexCondition } from "./index_condition.ts";

/** A key by which an upsert finds rows. */
export interface UniqueKey extends KeyColumns {
  /** The rows of a partial unique index. Absent if the key is unique among all rows. */
  readonly rows?: Filter;
}

interface NamedKey extends UniqueKey {
  /** The key as the parameter `on`: `email`, `team,slug` or `email(deletedAt==null)`. */
  readonly name: string;
}

/**
 * Returns the keys by which an upsert can find rows: the primary key, unique columns, sets of
 * columns that are unique together, and partial unique indexes. Excludes a key if clients can
 * neither read nor write its columns, because they could guess its values.
 */
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
    where === null ? [] : partialKey(
      columnsOf(columns),
      conditionSql(where, resource.driver.dialect),
      resource,
    )
  );
  const known = new Set<string>();
  return [...keys, ...partial].filter(({ primaryKey, rows }) => {
    const id = keyName(primaryKey) + (rows === undefined ? "" : canonicalFilterText(rows));
    const isUsable = primaryKey.length > 0 && !known.has(id) &&
      primaryKey.every((column) => fields.readable.includes(column) && mayWrite(column, resource));
    if (isUsable) known.add(id);
    return isUsable;
  });
}

/** Returns the key of a partial index. Returns none if the user cannot filter by its condition. */
function partialKey(
  columns: readonly ColumnInfo[],
  sql: string,
  resource: Resource,
): readonly NamedKey[] {
  const { table, fields } = resource;
  const condition = parseIndexCondition(sql, table.columns);
  if (condition === null || !condition.columns.every((one) => fields.readable.includes(one))) {
    return [];
  }
  try {
    const rows = parseUserFilter(condition.filter, resource);
    const name = `${namesOf(columns)}(${condition.filter})`;
    return rows === null ? [] : [{ primaryKey: columns, rows, name }];
  } catch (error) {
    // A column of the condition is not filterable, or a constant is no value of its column.
    if (error instanceof Problem) return [];
    throw error;
  }
}

/** Returns true if a create can name a unique key to update an existing row instead. */
export function mayUpsert(resource: Resource): boolean {
  const { enableCreate, enableUpdate } = resource.capabilities;
  return enableCreate && enableUpdate && uniqueKeysOf(resource).length > 0;
}

/** The query parameter that selects a unique key. Only upserts have it. */
export const uniqueKeyParameter: ReadonlySet<string> = new Set(["on"]);

/**
 * Returns the unique key whose columns the query parameter `on` names, in any order. The condition
 * of a partial index follows in parentheses, as a filter. Without `on`, returns the primary key.
 * Throws a 400 that lists the unique keys.
 */
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

function notUnique(text: string, keys: readonly NamedKey[]): Problem {
  const shown = JSON.stringify(text.slice(0, 100));
  const known = keys.length === 0
    ? "there is none that this request could use"
    : `use ${keys.slice(0, 20).map(({ name }) => `on=${name}`).join(" or ")}`;
  return new Problem(
    "invalid-parameter",
    `Cannot upsert on ${shown}: it is no unique key; ${known}`,
  );
}

function namesOf(columns: readonly ColumnInfo[]): string {
  return columns.map(({ name }) => quoteName(name)).join(",");
}

/** Returns a name for a set of columns. The name does not depend on their order. */
function keyName(columns: readonly ColumnInfo[]): string {
  return JSON.stringify(columns.map(({ name }) => name).toSorted());
}
