import type { ImageColumn } from "./image_json.ts";

/** A SQLite table to record in the change log, with all that its triggers depend on. */
export interface RecordedTable {
  /** As the database spells it. */
  readonly name: string;
  /** The columns, without those that are never recorded. */
  readonly recorded: readonly RecordedColumn[];
  readonly columns: readonly RecordedColumn[];
  /** What identifies its rows where there are no row ids. */
  readonly key: readonly RecordedColumn[];
  /** The name of the row id; null if there is none. */
  readonly rowId: string | null;
  /** True if a row keeps its identity: VACUUM may give other row ids, unless they are a key. */
  readonly hasStableIdentity: boolean;
  /** True if triggers may write while a row is being deleted, by the action of a foreign key. */
  readonly mayBeInterrupted: boolean;
  /** The unique indexes, besides the row id. */
  readonly uniques: readonly UniqueRule[];
}

/** A column of a SQLite table to record in the change log. */
export interface RecordedColumn extends ImageColumn {
  readonly generated: boolean;
  /** True if it is the row id itself. */
  readonly isRowId: boolean;
  /** The default, as SQL, that REPLACE puts in place of a NULL that is not allowed; else null. */
  readonly replaceDefault: string | null;
}

/** A unique index of a SQLite table to record. */
export interface UniqueRule {
  readonly parts: readonly UniquePart[];
  /** The condition of a partial index, or null. */
  readonly where: string | null;
  /** All columns that it depends on. */
  readonly columns: readonly string[];
}

/** A column, or an expression, in a unique index of a SQLite table to record. */
export interface UniquePart {
  /** Null is an expression. */
  readonly column: string | null;
  /** The expression over the columns of the table. */
  readonly text: string;
  readonly collation: string;
}

/**
 * The names of the row id of a table to record: each of them is the row id where no column has that
 * name.
 */
export const rowIdNames: readonly string[] = ["rowid", "_rowid_", "oid"];
