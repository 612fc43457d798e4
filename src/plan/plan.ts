import type { Filter } from "../filter/filter.ts";
import type { Relation } from "../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { SqlValue } from "../sql/fragment.ts";

/** One key of an order. NULLs stand last, whichever the direction. */
export interface OrderKey {
  readonly column: ColumnInfo;
  readonly descending: boolean;
}

/** Rows to read, in an order that ends in the primary key. */
export interface ReadPlan {
  readonly kind: "read";
  readonly table: TableInfo;
  readonly columns: readonly ColumnInfo[];
  readonly where: Filter;
  readonly order: readonly OrderKey[];
  /** Stored values of the order's keys: only rows behind them. */
  readonly after: readonly SqlValue[] | null;
  /** Null where the condition holds for one row at most. */
  readonly limit: number | null;
  /** Whether the rows stay locked until the transaction ends. */
  readonly lock?: true;
}

/** Rows to read that are related to others, by one statement however many these are. */
export interface RelatedPlan {
  readonly kind: "related";
  readonly relation: Relation;
  /** In-process values of the column that the relation starts at; none is null. */
  readonly keys: readonly unknown[];
  readonly columns: readonly ColumnInfo[];
  /** Over the relation's target. */
  readonly where: Filter;
  /** Over the link table of `manyToMany`. */
  readonly links: Filter;
  /** Ends in the primary key. */
  readonly order: readonly OrderKey[];
  /** The most rows of each key. */
  readonly limit: number;
  /** The most rows of all keys together. */
  readonly most: number;
  /** Whether an index finds the rows of a key, and no primary key is NULL. */
  readonly byIndex: boolean;
}

/** Rows to count. */
export interface CountPlan {
  readonly kind: "count";
  readonly table: TableInfo;
  readonly where: Filter;
}

/** Rows to estimate the number of, by what the engine knows of them without reading them. */
export interface EstimatePlan {
  readonly kind: "estimate";
  readonly table: TableInfo;
  readonly where: Filter;
}

/** Instead of a value: what the database puts into the column by itself. */
export const databaseDefault: unique symbol = Symbol("database default");

/** Instead of a value, in an update of an integer column: one more than is stored. */
export const oneMore: unique symbol = Symbol("one more");

/**
 * In-process values by column, or {@link databaseDefault} or {@link oneMore}; an absent column is
 * left alone.
 */
export type Assignments = ReadonlyMap<ColumnInfo, unknown>;

/** Rows to insert by one statement. */
export interface InsertPlan {
  readonly kind: "insert";
  readonly table: TableInfo;
  /** What the statement names; only a lone row may have no column at all. */
  readonly columns: readonly ColumnInfo[];
  /** What a row leaves out becomes what the database puts there by itself. Never empty. */
  readonly rows: readonly Assignments[];
  readonly returning: readonly ColumnInfo[];
}

/** Rows to change. `set` is never empty. */
export interface UpdatePlan {
  readonly kind: "update";
  readonly table: TableInfo;
  readonly set: Assignments;
  readonly where: Filter;
  readonly returning: readonly ColumnInfo[];
}

/** Rows to delete. */
export interface DeletePlan {
  readonly kind: "delete";
  readonly table: TableInfo;
  readonly where: Filter;
}

/** A column whose values tell groups apart. */
export interface GroupKey {
  readonly column: ColumnInfo;
  /** What having and order call it: a column of the groups, not of the table. */
  readonly as: ColumnInfo;
}

/** What is computed over the rows of a group. */
export type Metric = CountMetric | ColumnMetric;

/** The number of rows, or of the values of a column. */
export interface CountMetric {
  readonly name: "count";
  /** Null counts the rows. */
  readonly column: ColumnInfo | null;
  readonly as: ColumnInfo;
}

/** Something about the values of a column, NULLs left out; NULL where there is none. */
export interface ColumnMetric {
  readonly name: "sum" | "avg" | "min" | "max";
  readonly column: ColumnInfo;
  readonly as: ColumnInfo;
  /** Whether the engine keeps it as an exact number, in a form of its own. */
  readonly exact: boolean;
}

/** Groups of rows and what is computed over each. */
export interface AggregatePlan {
  readonly kind: "aggregate";
  readonly table: TableInfo;
  readonly where: Filter;
  /** None: all rows are one group, even where there are none. */
  readonly keys: readonly GroupKey[];
  readonly metrics: readonly Metric[];
  /** Over the columns that keys and metrics are called by; so is the order. */
  readonly having: Filter;
  readonly order: readonly OrderKey[];
  readonly limit: number;
}

/** What will be done with one table, as data. */
export type Plan =
  | ReadPlan
  | RelatedPlan
  | CountPlan
  | EstimatePlan
  | AggregatePlan
  | InsertPlan
  | UpdatePlan
  | DeletePlan;
