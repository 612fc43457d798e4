import { and, comparison, type Filter, noRows } from "../filter/filter.ts";
import { equalOperator, inOperator } from "../filter/operators/operator_registry.ts";
import { invalidParameter } from "../problem/problem.ts";
import { canonicalValueText, writeJson } from "../schema/exact_json.ts";
import { isAny, kindOfColumn } from "../schema/structured/structured_value.ts";
import { InvalidValue } from "../schema/kind.ts";
import type { ColumnInfo, Row, TableInfo } from "../schema/table_info.ts";
import { compareText } from "../schema/kinds/text_kind.ts";
import { anyKeyText, unquotedKeyText } from "../schema/kinds/any_key.ts";

/** The primary key of a row: its values in key order. */
export type Key = readonly unknown[];

export type KeyColumns = Pick<TableInfo, "primaryKey">;

/**
 * Parses an id in an undecoded path segment. Returns null if no row can have that key. The values
 * of a composite key are percent-encoded separately and joined by `,`. A leading `,` of a key of
 * one column is ignored: see {@link formatKey}. Throws a 400 for a malformed percent sequence.
 */
export function parseKey(segment: string, table: TableInfo): Key | null {
  const columns = table.primaryKey;
  const parts = columns.length === 1 ? [segment.replace(/^,/, "")] : segment.split(",");
  if (parts.length !== columns.length) return null;
  const key: unknown[] = [];
  for (let i = 0; i < columns.length; i++) {
    const text = decodeKeySegment(parts[i] ?? "");
    // The cast is safe: there are as many parts as columns.
    const column = columns[i] as ColumnInfo;
    const quoted = isAny(column) ? unquotedKeyText(text) : undefined;
    try {
      key.push(quoted ?? kindOfColumn(column).fromText(text, column));
    } catch (error) {
      if (error instanceof InvalidValue) return null;
      throw error;
    }
  }
  return key;
}

/**
 * Returns a key as a path segment that {@link parseKey} can parse, and that differs from all routes
 * of the resource. With `columns`, a string key that looks like a number is quoted. A `,` precedes
 * a key that is "", `.` or `..`, because clients would resolve such a path.
 */
export function formatKey(key: Key, columns: readonly ColumnInfo[] = []): string {
  const segment = key.map((value, index) => {
    const column = columns[index];
    const isMixed = column !== undefined && isAny(column);
    const text = isMixed ? anyKeyText(value) : keyText(value);
    return isPlainText.test(text) ? text : encodeURIComponent(text);
  }).join(",");
  if (/^\.{0,2}$/.test(segment)) return `,${segment}`;
  if (!reservedPathSegments.has(segment)) return segment;
  return `%${segment.charCodeAt(0).toString(16)}${segment.slice(1)}`;
}

/** Matches most keys. They need no encoding, and `encodeURIComponent` would take 2 µs. */
const isPlainText = /^[\w-]+$/;
function keyText(value: unknown): string {
  return typeof value === "object" && value !== null ? writeJson(value) : String(value);
}

/**
 * The first path segments of the routes of a resource, even of disabled operations. As a path
 * segment, `count` never identifies a row: the path of the row `count` contains `%63ount`.
 */
export const reservedPathSegments: ReadonlySet<string> = new Set([
  "aggregate",
  "batch",
  "count",
  "import",
  "query",
  "rpc",
  "search",
  "subscribe",
]);

/** The row must contain the key columns. */
export function keyOf(row: Row, table: KeyColumns): Key {
  return table.primaryKey.map((column) => row[column.name]);
}

export function keyFilter(key: Key, { primaryKey }: KeyColumns): Filter {
  const [only, another] = primaryKey;
  if (only === undefined) return noRows;
  if (another === undefined) return comparison(equalOperator, only, key);
  return and(...primaryKey.map((column, index) => comparison(equalOperator, column, [key[index]])));
}

export function keysFilter(keys: readonly Key[], table: KeyColumns): Filter {
  const [column, another] = table.primaryKey;
  if (keys.length === 0 || column === undefined) return noRows;
  if (another === undefined) return comparison(inOperator, column, keys.map(([value]) => value));
  // In a flat list, each OR would be a level of the expression, and SQLite allows 1,000 levels.
  const groups = chunksOf(keys, keysOfGroup).map((some): Filter => ({
    kind: "or",
    terms: some.map((key) => keyFilter(key, table)),
  }));
  return { kind: "or", terms: groups };
}

const keysOfGroup = 100;

export function chunksOf<T>(list: readonly T[], size: number): readonly (readonly T[])[] {
  if (list.length <= size) return list.length === 0 ? [] : [list];
  return Array.from(
    { length: Math.ceil(list.length / size) },
    (_, index) => list.slice(index * size, (index + 1) * size),
  );
}

/** Two keys have an equal id if and only if they identify one row, even in different forms. */
export function keyId(key: Key, table: KeyColumns): string {
  return JSON.stringify(table.primaryKey.map((column, index) => identityText(key[index], column)));
}

export function isSameKeyValue(left: unknown, right: unknown, column: ColumnInfo): boolean {
  return kindOfColumn(column).compare?.(left, right) === 0 ||
    identityText(left, column) === identityText(right, column);
}

function identityText(value: unknown, column: ColumnInfo): string {
  const text = canonicalValueText(value, column);
  return column.databaseType?.ignoresCase === true ? text.toLowerCase() : text;
}

/** Compares two keys. Transactions lock rows in this order, to avoid deadlocks. */
export function compareKeys(left: Key, right: Key, table: KeyColumns): number {
  for (const [index, column] of table.primaryKey.entries()) {
    const compare = kindOfColumn(column).compare ?? ((a, b) => compareText(String(a), String(b)));
    const order = compare(left[index], right[index]);
    if (order !== 0) return order;
  }
  return 0;
}

export function decodeKeySegment(segment: string): string {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw invalidParameter("The path holds a malformed percent sequence: encode it as UTF-8", {
      cause,
    });
  }
}
