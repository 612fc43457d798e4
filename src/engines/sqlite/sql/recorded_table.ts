import type { ImageColumn } from "./image_json.ts";

/** A SQLite table whose changes are recorded, with everything that its triggers depend on. */
export interface RecordedTable {
  /** The table's name in the spelling of the database. */
  readonly name: string;
  /** The columns, except for those that are never recorded. */
  readonly recorded: readonly RecordedColumn[];
  readonly columns: readonly RecordedColumn[];
  /** The columns that identify the rows of a table without row ids. */
  readonly key: readonly RecordedColumn[];
  /** The name of the row id, or null if there is none. */
  readonly rowId: string | null;
  /** True if rows keep their identity. VACUUM may change row ids that are not a key. */
  readonly hasStableIdentity: boolean;
  /** True if triggers may write while a foreign key's action deletes a row. */
  readonly mayBeInterrupted: boolean;
  /** The unique indexes, except for the row id. */
  readonly uniques: readonly RecordedUniqueIndex[];
}

export interface RecordedColumn extends ImageColumn {
  readonly generated: boolean;
  readonly isRowId: boolean;
  /** The SQL default with which REPLACE replaces a NULL in a NOT NULL column, or null. */
  readonly replaceDefault: string | null;
}

export interface RecordedUniqueIndex {
  readonly parts: readonly UniqueIndexPart[];
  /** The condition of a partial index, or null for a complete index. */
  readonly where: string | null;
  /** All columns that the index depends on. */
  readonly columns: readonly string[];
}

/** A column or an expression in a unique index of a SQLite table whose changes are recorded. */
export interface UniqueIndexPart {
  /** The column, or null if the part is an expression. */
  readonly column: string | null;
  /** The expression over the columns of the table. */
  readonly text: string;
  readonly collation: string;
}

/** The names of the row id. A name is the row id unless a column has that name. */
export const rowIdNames: readonly string[] = ["rowid", "_rowid_", "oid"];
