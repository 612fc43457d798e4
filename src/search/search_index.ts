import type { Connection, Driver } from "../db/driver.ts";
import { fetchRows, type RowReader } from "../db/rows.ts";
import { and, type Filter } from "../filter/filter.ts";
import { rowMatches } from "../filter/match/row_matches.ts";
import { chunksOf, type Key, keyFilter, keyId, keyOf, keysFilter } from "../plan/key.ts";
import type { ReadPlan } from "../plan/plan.ts";
import type { ColumnInfo, Row, TableInfo } from "../schema/table_info.ts";

/** A field of a search index: a readable column whose words are searched. */
export interface SearchField {
  /** The column whose words are indexed. */
  readonly column: ColumnInfo;
  /** The weight of a match in the field relative to other fields: 1, unless an option sets it. */
  readonly weight: number;
}

/** The description of one table's search index, for the search engine. */
export interface IndexDescription {
  /** The index's name, which is unique within the engine. */
  readonly name: string;
  /** The table whose rows are indexed. */
  readonly table: TableInfo;
  /** The fields in column order, without hidden columns: searching could reveal their words. */
  readonly fields: readonly SearchField[];
  /** The driver of the table's database, for reads outside of a transaction. */
  readonly driver: Driver;
}

export interface SearchIndex extends IndexDescription {
  readonly reader: RowReader;
  /** The columns of the key and the fields: one array, by whose identity decoders are cached. */
  readonly columns: readonly ColumnInfo[];
  /** The filter of the rows to index: all rows, of any user, that are not soft-deleted. */
  readonly undeleted: Filter;
  isIndexed(column: ColumnInfo): boolean;
}

/** The strings of a row for a search index, one for each field; empty for a missing string. */
export type SearchTexts = readonly string[];

/** A row that was read for indexing. `texts` is null if the row is missing or soft-deleted. */
export interface SearchedRow {
  readonly key: Key;
  readonly texts: SearchTexts | null;
}

/** Reads one result for each key, in order. `lock` prevents changes until the transaction ends. */
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

/** Returns a filter for the keys. The filter for a single key, as in most writes, is simpler. */
function oneOf(keys: readonly Key[], table: TableInfo): Filter {
  const [only, another] = keys;
  return only !== undefined && another === undefined
    ? keyFilter(only, table)
    : keysFilter(keys, table);
}

export function toSearchedRow(row: Row, { table, fields, undeleted }: SearchIndex): SearchedRow {
  const texts = rowMatches(undeleted, row) ? textsOf(row, fields) : null;
  return { key: keyOf(row, table), texts };
}

export function textsOf(row: Row, fields: readonly SearchField[]): SearchTexts {
  return fields.map(({ column }) => textOf(row[column.name]));
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined || typeof value === "boolean") return "";
  if (typeof value !== "object") return String(value);
  return Object.values(value).map(textOf).filter((text) => text !== "").join("\n");
}
