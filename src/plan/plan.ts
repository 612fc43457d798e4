import type { Filter } from "../filter/filter.ts";
import type { Relation } from "../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { Fragment, SqlValue } from "../sql/fragment.ts";

/** One key of the order in a plan. NULLs come last in either direction. */
export interface OrderKey {
  readonly column: ColumnInfo;
  readonly descending: boolean;
}

/** A position among rows that may be equal: a number of rows after the first row with values. */
export interface OffsetPosition {
  /** Stored values of the first keys of the order, or none at its start. */
  readonly values: readonly SqlValue[];
  readonly skip: number;
}

/**
 * A plan that reads rows in an order that ends in the primary key, or in all columns that have an
 * order, of a table without a key.
 */
export interface ReadPlan {
  readonly kind: "read";
  readonly table: TableInfo;
  readonly columns: readonly ColumnInfo[];
  readonly where: Filter;
  readonly order: readonly OrderKey[];
  /** The keyset position to continue from: only rows after it are read. */
  readonly after: readonly SqlValue[] | null;
  /** The position to continue from if rows may share a key or have none. Then `after` is null. */
  readonly from?: OffsetPosition;
  /** The number of skipped rows. Absent for none, and with a position. */
  readonly offset?: number;
  /** Null if at most one row can match. */
  readonly limit: number | null;
  /** Locks the rows until the transaction ends. */
  readonly lock?: true;
  /** Cuts long values. Absent if all values are read whole. */
  readonly preview?: Preview;
}

/** How a plan that reads rows cuts their long values in the database. */
export interface Preview {
  /** The maximum number of characters of a string or a document, or of bytes. */
  readonly length: number;
  /** The columns whose values are cut, none of them a key. */
  readonly cut: ReadonlySet<ColumnInfo>;
  /**
   * The cut columns of the order. Their whole values follow the columns in the last row but one,
   * after which the next page begins. In all other rows these cells are NULL.
   */
  readonly whole: readonly ColumnInfo[];
}

/** The values of a row by which a relation finds other rows, one for each pair of columns. */
export type RelatedKey = readonly unknown[];

/** A plan that reads the rows related to given ones, in one statement for all of them. */
export interface RelatedPlan {
  readonly kind: "related";
  readonly relation: Relation;
  /** In-process values of the columns at which the relation starts. None is null. */
  readonly keys: readonly RelatedKey[];
  readonly columns: readonly ColumnInfo[];
  /** Over the relation's target. */
  readonly where: Filter;
  /** Over the link table of `manyToMany`. */
  readonly links: Filter;
  /** Ends in the primary key. */
  readonly order: readonly OrderKey[];
  /** The maximum number of rows for each key. */
  readonly limit: number;
  /** The maximum number of rows in total. */
  readonly most: number;
  /** True if an index finds the rows of a key and no primary key is NULL. */
  readonly byIndex: boolean;
  /** True if no index finds the rows of the first step by a key. */
  readonly isUnindexed: boolean;
}

/**
 * A plan that reads the rows of matching documents, by rank and then by key: the columns, then the
 * total of all pages.
 */
export interface SearchPlan {
  readonly kind: "search";
  readonly table: TableInfo;
  readonly columns: readonly ColumnInfo[];
  readonly where: Filter;
  /** A SELECT of the matching documents: their keys, each once, and their ranks. */
  readonly matches: Fragment;
  readonly limit: number;
  readonly offset: number;
}

/** A plan that counts rows. */
export interface CountPlan {
  readonly kind: "count";
  readonly table: TableInfo;
  readonly where: Filter;
}

/**
 * A plan that estimates the number of rows from the engine's statistics, without reading the rows.
 */
export interface EstimatePlan {
  readonly kind: "estimate";
  readonly table: TableInfo;
  readonly where: Filter;
}

/** Replaces a value in a write plan: the column's default in the database. */
export const databaseDefault: unique symbol = Symbol("database default");

/** Replaces the value of an integer column in an update plan: the stored value plus one. */
export const oneMore: unique symbol = Symbol("one more");

/** Replaces a value in an update plan: the stored value. */
export const storedValue: unique symbol = Symbol("stored value");

/**
 * The values of a write plan: in-process values by column, or {@link databaseDefault}, {@link
 * oneMore} or {@link storedValue}. An absent column keeps its value.
 */
export type Assignments = ReadonlyMap<ColumnInfo, unknown>;

/** The values of one row to insert, as {@link Assignments} are. */
export type InsertValues = Pick<Assignments, "get" | "has">;

/** A plan that inserts rows in one statement. */
export interface InsertPlan {
  readonly kind: "insert";
  readonly table: TableInfo;
  /** The columns that the statement names. Only a single row may have none. */
  readonly columns: readonly ColumnInfo[];
  /** Never empty. A column that a row omits gets its default in the database. */
  readonly rows: readonly InsertValues[];
  readonly returning: readonly ColumnInfo[];
}

/** A plan that updates rows. `set` is never empty. */
export interface UpdatePlan {
  readonly kind: "update";
  readonly table: TableInfo;
  readonly set: Assignments;
  readonly where: Filter;
  readonly returning: readonly ColumnInfo[];
}

/** A plan that deletes rows. */
export interface DeletePlan {
  readonly kind: "delete";
  readonly table: TableInfo;
  readonly where: Filter;
  /** The columns of the deleted rows to return. */
  readonly returning: readonly ColumnInfo[];
}

/** A column that an aggregate plan groups rows by. */
export interface GroupKey {
  readonly column: ColumnInfo;
  /** The column of the result, which `having` and the order refer to. */
  readonly as: ColumnInfo;
}

/** A metric of an aggregate plan: a value that is computed over the rows of a group. */
export type Metric = CountMetric | ColumnMetric;

/** A metric of an aggregate plan: the number of rows, or of the values of a column. */
export interface CountMetric {
  readonly name: "count";
  /** The column, or null to count the rows. */
  readonly column: ColumnInfo | null;
  readonly as: ColumnInfo;
}

/**
 * A metric of an aggregate plan over the values of a column, ignoring NULLs. It is NULL if there
 * are no values.
 */
export interface ColumnMetric {
  readonly name: "sum" | "avg" | "min" | "max";
  readonly column: ColumnInfo;
  readonly as: ColumnInfo;
  /** True if the engine computes it exactly, in a representation that the dialect decodes. */
  readonly exact: boolean;
}

/** A plan that groups rows and computes metrics over each group. */
export interface AggregatePlan {
  readonly kind: "aggregate";
  readonly table: TableInfo;
  readonly where: Filter;
  /** Empty: all rows are one group, which exists even without rows. */
  readonly keys: readonly GroupKey[];
  readonly metrics: readonly Metric[];
  /** The filter over the result columns of keys and metrics. The order uses these columns, too. */
  readonly having: Filter;
  readonly order: readonly OrderKey[];
  readonly limit: number;
  /** Uses the faster metrics of the dialect, if it has some. */
  readonly isQuick?: true;
}

/** A plan of any kind: one statement on one table, as data. */
export type Plan =
  | ReadPlan
  | RelatedPlan
  | SearchPlan
  | CountPlan
  | EstimatePlan
  | AggregatePlan
  | InsertPlan
  | UpdatePlan
  | DeletePlan;
