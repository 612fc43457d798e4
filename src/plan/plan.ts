import type { Filter } from "../filter/filter.ts";
import type { Relation } from "../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { Fragment, SqlValue } from "../sql/fragment.ts";

/** One key of the order in a plan. NULLs come last in both directions. */
export interface OrderKey {
  readonly column: ColumnInfo;
  readonly descending: boolean;
  /** True if no row has NULL in the column, although the column can be NULL. */
  readonly withoutNulls?: true;
}

/**
 * A position in an order in which several rows may have equal values: the values of sort keys, and
 * the number of rows to skip from the first row with these values.
 */
export interface OffsetPosition {
  /** Stored values of the order's first keys. Empty at the start of the order. */
  readonly values: readonly SqlValue[];
  readonly skip: number;
}

/**
 * A plan that reads rows in an order. The order ends in the primary key. For a table without a key,
 * it ends in all columns that can be sorted.
 */
export interface ReadPlan {
  readonly kind: "read";
  readonly table: TableInfo;
  readonly columns: readonly ColumnInfo[];
  readonly where: Filter;
  readonly order: readonly OrderKey[];
  /** Stored values of the order's keys, after which the rows begin. Null for the first page. */
  readonly after: readonly SqlValue[] | null;
  /** The position to continue from if several rows may have equal values. Then `after` is null. */
  readonly from?: OffsetPosition;
  /** Number of rows to skip. Absent if no rows are skipped or if a position is set. */
  readonly offset?: number;
  /** Maximum number of rows. Null if at most one row can match. */
  readonly limit: number | null;
  /** True if the rows are locked until the end of the transaction. */
  readonly lock?: true;
  /** The settings for cutting long values. Absent if all values are read whole. */
  readonly preview?: PreviewSettings;
}

/** The settings for cutting long values in the database when a plan reads rows. */
export interface PreviewSettings {
  /** Maximum length of a value: characters of a string or document, or bytes of binary data. */
  readonly length: number;
  /** The columns whose values are cut. Key columns are never cut. */
  readonly cut: ReadonlySet<ColumnInfo>;
  /**
   * The columns of the order that are cut. Their uncut values follow the other columns, but only in
   * the row after which the next page begins, the last but one. In other rows these cells are NULL.
   */
  readonly whole: readonly ColumnInfo[];
}

/** The values of a row by which a relation finds related rows, one for each pair of columns. */
export type RelatedKey = readonly unknown[];

/** A plan that reads the rows related to given rows, in one statement for all of them. */
export interface RelatedPlan {
  readonly kind: "related";
  readonly relation: Relation;
  /** In-process values of the columns at which the relation starts. No value is null. */
  readonly keys: readonly RelatedKey[];
  readonly columns: readonly ColumnInfo[];
  readonly where: Filter;
  /** Filter for rows of the link table in a `manyToMany` relation. */
  readonly links: Filter;
  /** Order of the related rows. It ends in the primary key. */
  readonly order: readonly OrderKey[];
  /** Maximum number of related rows for each key. */
  readonly limit: number;
  /** Maximum number of related rows for all keys together. */
  readonly most: number;
  /** True if an index finds the rows of a key, and no column of the primary key is NULL. */
  readonly byIndex: boolean;
  /** True if no index finds the rows of the relation's first step. */
  readonly isUnindexed: boolean;
}

/**
 * A plan that reads the rows of documents that match a search, ordered by rank and then by key.
 * Each result row has the columns, then the total number of matches on all pages.
 */
export interface SearchPlan {
  readonly kind: "search";
  readonly table: TableInfo;
  readonly columns: readonly ColumnInfo[];
  readonly where: Filter;
  /** A SELECT of the keys and ranks of the matching documents, without duplicates. */
  readonly matches: Fragment;
  readonly limit: number;
  readonly offset: number;
}

export interface CountPlan {
  readonly kind: "count";
  readonly table: TableInfo;
  readonly where: Filter;
}

/** A plan that estimates the number of rows from the engine's statistics. */
export interface EstimatePlan {
  readonly kind: "estimate";
  readonly table: TableInfo;
  readonly where: Filter;
}

/** Placeholder for a value in a write plan: the database uses the column's default. */
export const databaseDefault: unique symbol = Symbol("database default");

/** Placeholder for an integer in an update plan: the database adds one to the stored value. */
export const incrementedValue: unique symbol = Symbol("one more");

/** Placeholder for a value in an update plan: the stored value stays. */
export const keepStoredValue: unique symbol = Symbol("stored value");

/**
 * Values of a write plan, by column: in-process values, or {@link databaseDefault},
 * {@link incrementedValue} and {@link keepStoredValue}. An absent column stays unchanged.
 */
export type Assignments = ReadonlyMap<ColumnInfo, unknown>;

/** The values of one new row, as in {@link Assignments}. */
export type InsertValues = Pick<Assignments, "get" | "has">;

export interface InsertPlan {
  readonly kind: "insert";
  readonly table: TableInfo;
  /** The columns that the INSERT names. The list may be empty only if there is a single row. */
  readonly columns: readonly ColumnInfo[];
  /** The values of each row. Never empty. The database sets the default of an omitted column. */
  readonly rows: readonly InsertValues[];
  readonly returning: readonly ColumnInfo[];
  readonly within?: RequiredScope;
}

/**
 * A filter that each written row must pass. Otherwise the statement fails as `outside-scope`. Only
 * for a statement that returns columns, in a dialect with `requireRow`.
 */
export type RequiredScope = Filter;

/** A plan that updates rows. `set` is never empty. */
export interface UpdatePlan {
  readonly kind: "update";
  readonly table: TableInfo;
  readonly set: Assignments;
  readonly where: Filter;
  readonly returning: readonly ColumnInfo[];
  readonly within?: RequiredScope;
}

export interface DeletePlan {
  readonly kind: "delete";
  readonly table: TableInfo;
  readonly where: Filter;
  readonly returning: readonly ColumnInfo[];
}

export interface GroupKey {
  readonly column: ColumnInfo;
  /** The key as a column of the result. `having` and the order use this column. */
  readonly as: ColumnInfo;
}

/** A metric of an aggregate plan: a value computed from the rows of one group. */
export type Metric = CountMetric | ColumnMetric;

/** A metric that counts the rows of a group, or the non-NULL values of a column. */
export interface CountMetric {
  readonly name: "count";
  /** The column whose values are counted, or null to count rows. */
  readonly column: ColumnInfo | null;
  readonly as: ColumnInfo;
}

/** A metric over a column, such as a sum, that ignores NULLs. NULL for a group without values. */
export interface ColumnMetric {
  readonly name: "sum" | "avg" | "min" | "max";
  readonly column: ColumnInfo;
  readonly as: ColumnInfo;
  /** True if the engine computes the metric exactly, in a form that the dialect decodes. */
  readonly exact: boolean;
}

export interface AggregatePlan {
  readonly kind: "aggregate";
  readonly table: TableInfo;
  readonly where: Filter;
  /** The keys of the groups. Without keys, all rows form one group, even if there are no rows. */
  readonly keys: readonly GroupKey[];
  readonly metrics: readonly Metric[];
  /** A filter on the groups. Like the order, it uses the columns of keys and metrics. */
  readonly having: Filter;
  readonly order: readonly OrderKey[];
  readonly limit: number;
  /** True to use faster metrics, if the dialect has some. */
  readonly isQuick?: true;
}

/** One statement on one table, as data that a compiler turns into SQL. */
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
