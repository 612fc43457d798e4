import type { ImageColumn } from "./image_json.ts";

/** A table to record, with all that its triggers depend on. */
export interface RecordedTable {
  /** As the database spells it. */
  readonly name: string;
  /** The columns, without those that are never recorded. */
  readonly recorded: readonly RecordedColumn[];
  readonly columns: readonly RecordedColumn[];
  /** What identifies its rows where there are no row ids. */
  readonly key: readonly RecordedColumn[];
  /** The name of the row id; null where there is none. */
  readonly rowId: string | null;
  /** Whether a row keeps its identity: VACUUM may give other row ids, unless they are a key. */
  readonly hasStableIdentity: boolean;
  /** Whether triggers may write while a row is being deleted, by the action of a foreign key. */
  readonly mayBeInterrupted: boolean;
  /** The unique indexes, besides the row id. */
  readonly uniques: readonly UniqueRule[];
}

/** A column of a table to record. */
export interface RecordedColumn extends ImageColumn {
  readonly generated: boolean;
  /** Whether it is the row id itself. */
  readonly isRowId: boolean;
  /** The default, as SQL, that REPLACE puts in place of a NULL that is not allowed; else null. */
  readonly replaceDefault: string | null;
}

/** A unique index. */
export interface UniqueRule {
  readonly parts: readonly UniquePart[];
  /** The condition of a partial index, or null. */
  readonly where: string | null;
  /** All columns that it depends on. */
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
