import type { ImageColumn } from "./image_json.ts";

export interface RecordedTable {
  readonly name: string;
  readonly recorded: readonly RecordedColumn[];
  readonly columns: readonly RecordedColumn[];
  readonly key: readonly RecordedColumn[];
  readonly rowId: string | null;
  /** True if the row's identity never changes. VACUUM can change row ids that are not a key. */
  readonly hasStableIdentity: boolean;
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
  readonly where: string | null;
  readonly columns: readonly string[];
}

export interface UniqueIndexPart {
  readonly column: string | null;
  readonly text: string;
  readonly collation: string;
}

/** The names of the row id. Each is the row id unless a column has that name. */
export const rowIdNames: readonly string[] = ["rowid", "_rowid_", "oid"];
