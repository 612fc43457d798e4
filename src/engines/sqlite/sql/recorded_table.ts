import type { ImageColumn } from "./image_json.ts";

/** A SQLite table whose changes are recorded, with everything on which its triggers depend. */
export interface RecordedTable {
  readonly name: string;
  readonly recorded: readonly RecordedColumn[];
  readonly columns: readonly RecordedColumn[];
  /** The columns that identify a row in a table without row ids. */
  readonly key: readonly RecordedColumn[];
  /** The name of the row id, or null if there is none. */
  readonly rowId: string | null;
  /** True if the row's identity never changes. VACUUM can change row ids that are not a key. */
  readonly hasStableIdentity: boolean;
  /** True if triggers can write while a foreign key's action deletes rows. */
  readonly mayBeInterrupted: boolean;
  readonly uniques: readonly RecordedUniqueIndex[];
}

export interface RecordedColumn extends ImageColumn {
  readonly generated: boolean;
  readonly isRowId: boolean;
  /** The SQL default that REPLACE puts in place of a NULL in a NOT NULL column, or null. */
  readonly replaceDefault: string | null;
}

export interface RecordedUniqueIndex {
  readonly parts: readonly UniqueIndexPart[];
  /** The condition of a partial index, or null for an index of all rows. */
  readonly where: string | null;
  /** All columns on which the index depends, including the columns in its expressions. */
  readonly columns: readonly string[];
}

export interface UniqueIndexPart {
  readonly column: string | null;
  /** The SQL of the column or the expression. */
  readonly text: string;
  readonly collation: string;
}

/** The names of the row id. Each is the row id unless a column has that name. */
export const rowIdNames: readonly string[] = ["rowid", "_rowid_", "oid"];
