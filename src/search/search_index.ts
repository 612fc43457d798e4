import type { Connection, Driver } from "../db/driver.ts";
import { fetchRows, type RowReader } from "../db/rows.ts";
import { and, type Filter } from "../filter/filter.ts";
import { rowMatches } from "../filter/match/row_matches.ts";
import { chunksOf, type Key, keyFilter, keyId, keyOf, keysFilter } from "../plan/key.ts";
import type { ReadPlan } from "../plan/plan.ts";
import type { ColumnInfo, Row, TableInfo } from "../schema/table_info.ts";

/** A field of a search index: a readable column whose words are found. */
export interface SearchField {
  /** The column. */
  readonly column: ColumnInfo;
  /** How much a match in it counts, beside those in the others; 1 unless set. */
  readonly weight: number;
}

/** The description of a search index of one table, for the engine that keeps it. */
export interface IndexDescription {
  /** Its name, which no other index of the engine has. */
  readonly name: string;
  /** The table of its rows. */
  readonly table: TableInfo;
  /** Never empty, in the order of the table. None is hidden: what it holds may be guessed by words. */
  readonly fields: readonly SearchField[];
  /** The database of the table, to read rows by outside of transactions. */
  readonly driver: Driver;
}

/** A search index of one table: which rows it has, and which of their texts. */
export interface SearchIndex extends IndexDescription {
  readonly reader: RowReader;
  /** The key and the fields: one array, by which the reader keeps its decoders. */
  readonly columns: readonly ColumnInfo[];
  /** The rows that it has: those that are not marked deleted, for any user. */
  readonly undeleted: Filter;
  /** Returns true if an index of the table begins with a column. */
  isIndexed(column: ColumnInfo): boolean;
}

/** The texts of a row for a search index, in the order of its fields; a field without one is empty. */
export type SearchTexts = readonly string[];

/** A row that was read for a search index: its texts, or null if it is gone or marked deleted. */
export interface SearchedRow {
  readonly key: Key;
  readonly texts: SearchTexts | null;
}

/**
 * Reads the rows with these keys as they are now, for a search index: one result for each key, in
 * the same order. Within a transaction it gives the rows as that has written them, and `lock` keeps
 * others from changing them until it ends.
 */
export async function readSearchedRows(
  { table, fields, columns, reader, undeleted }: SearchIndex,
  keys: readonly Key[],
  connection: Connection,
  { lock = false }: { readonly lock?: boolean } = {},
): Promise<readonly SearchedRow[]> {
  const found = new Map<string, Row>();
  for (const some of chunksOf(keys, keysPerRead)) {
    const plan: ReadPlan = {
      kind: "read",
      table,
      columns,
      where: and(oneOf(some, table), undeleted),
      order: [],
      after: null,
      limit: null,
      ...(lock ? { lock } : {}),
    };
    for (const row of (await fetchRows(connection, plan, reader)).rows) {
      found.set(keyId(keyOf(row, table), table), row);
    }
  }
  return keys.map((key) => {
    const row = found.get(keyId(key, table));
    return { key, texts: row === undefined ? null : textsOf(row, fields) };
  });
}

const keysPerRead = 200;

/** Most writes are of one row, whose statement by its key is the same each time. */
function oneOf(keys: readonly Key[], table: TableInfo): Filter {
  const [only, another] = keys;
  return only !== undefined && another === undefined
    ? keyFilter(only, table)
    : keysFilter(keys, table);
}

/** What an index has of a row that was read whole. */
export function searchedRow(row: Row, { table, fields, undeleted }: SearchIndex): SearchedRow {
  const texts = rowMatches(undeleted, row) ? textsOf(row, fields) : null;
  return { key: keyOf(row, table), texts };
}

/** The texts of a row. */
export function textsOf(row: Row, fields: readonly SearchField[]): SearchTexts {
  return fields.map(({ column }) => textOf(row[column.name]));
}

/** A value as text: that of nested objects and lists is the texts of their values, a line each. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined || typeof value === "boolean") return "";
  if (typeof value !== "object") return String(value);
  return Object.values(value).map(textOf).filter((text) => text !== "").join("\n");
}
