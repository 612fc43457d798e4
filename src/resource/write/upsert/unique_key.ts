import { nameOfItem, quoteName, splitNames } from "../../../filter/syntax/quoted_name.ts";
import type { KeyColumns } from "../../../plan/key.ts";
import { Problem } from "../../../problem/problem.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";
import type { Resource } from "../../model/resource.ts";
import { mayWrite } from "../values/parse_fields.ts";

type Keyed = Pick<Resource, "table" | "fields" | "generated">;

/**
 * Returns the keys by which an upsert can find rows: the primary key, unique columns, and sets of
 * columns that are unique together. Excludes a key if clients can neither read nor write its
 * columns, because they could guess its values.
 */
export function uniqueKeysOf(resource: Keyed): readonly (readonly ColumnInfo[])[] {
  const { table, fields } = resource;
  const byDbName = new Map(table.columns.map((column) => [column.dbName, column]));
  const keys = [
    table.primaryKey,
    ...table.columns.filter(({ unique }) => unique).map((column) => [column]),
    ...table.uniques.map((names) => names.flatMap((name) => byDbName.get(name) ?? [])),
  ];
  const known = new Set<string>();
  return keys.filter((columns) => {
    const id = keyName(columns);
    const isUsable = columns.length > 0 && !known.has(id) &&
      columns.every((column) => fields.readable.includes(column) && mayWrite(column, resource));
    if (isUsable) known.add(id);
    return isUsable;
  });
}

/** Returns true if a create can name a unique key to update an existing row instead. */
export function mayUpsert(resource: Resource): boolean {
  const { enableCreate, enableUpdate } = resource.capabilities;
  return enableCreate && enableUpdate && uniqueKeysOf(resource).length > 0;
}

/** The query parameter that selects a unique key. Only upserts have it. */
export const uniqueKeyParameter: ReadonlySet<string> = new Set(["on"]);

/**
 * Returns the unique key whose columns the query parameter `on` names, in any order. Without `on`,
 * returns the primary key. Throws a 400 that lists the unique keys.
 */
export function parseUniqueKey(text: string | undefined, resource: Resource): KeyColumns {
  const { table } = resource;
  if (text === undefined) return table;
  const names = splitNames(text).map(nameOfItem);
  const keys = uniqueKeysOf(resource);
  const found = keys.find((columns) =>
    columns.length === names.length && columns.every(({ name }) => names.includes(name))
  );
  if (found === undefined) throw notUnique(text, keys);
  return found === table.primaryKey ? table : { primaryKey: found };
}

function notUnique(text: string, keys: readonly (readonly ColumnInfo[])[]): Problem {
  const shown = JSON.stringify(text.slice(0, 100));
  const names = keys.map((columns) => columns.map(({ name }) => quoteName(name)).join(","));
  const known = names.length === 0
    ? "there is none that this request could use"
    : `use ${names.slice(0, 20).map((name) => `on=${name}`).join(" or ")}`;
  return new Problem(
    "invalid-parameter",
    `Cannot upsert on ${shown}: it is no unique key; ${known}`,
  );
}

/** Returns a name for a set of columns. The name does not depend on their order. */
function keyName(columns: readonly ColumnInfo[]): string {
  return JSON.stringify(columns.map(({ name }) => name).toSorted());
}
