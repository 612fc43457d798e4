import type { ImageColumn } from "./image_json.ts";

/** A table to watch. */
export interface RecordedTable {
  /** As the database spells it. */
  readonly name: string;
  /** The columns, without those that are never recorded. */
  readonly recorded: readonly RecordedColumn[];
  readonly columns: readonly RecordedColumn[];
  /** What tells its rows apart where there are no row ids. */
  readonly key: readonly RecordedColumn[];
  /** What the row id is called; null where there is none. */
  readonly rowId: string | null;
  /** Whether a row keeps what tells it apart: VACUUM may give other row ids, unless they are a key. */
  readonly hasStableIdentity: boolean;
  /** Whether triggers may write while a row is being deleted: after what a foreign key does. */
  readonly mayBeInterrupted: boolean;
  /** What no two rows may have in common, beside the row id. */
  readonly uniques: readonly UniqueRule[];
}

/** A column of a table to watch. */
export interface RecordedColumn extends ImageColumn {
  readonly generated: boolean;
  /** Whether it is the row id itself. */
  readonly isRowId: boolean;
  /** What stands in for NULL, as SQL, where NULL is not allowed and REPLACE puts a default. */
  readonly replaceDefault: string | null;
}

/** A unique index. */
export interface UniqueRule {
  readonly parts: readonly UniquePart[];
  /** The condition of a partial index, or null. */
  readonly where: string | null;
  /** The columns that decide. */
  readonly columns: readonly string[];
}

/** A column of an index, or an expression. */
export interface UniquePart {
  /** Null is an expression. */
  readonly column: string | null;
  /** The expression over the columns of the table. */
  readonly text: string;
  readonly collation: string;
}
