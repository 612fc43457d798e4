import type { Filter } from "../filter/filter.ts";
import type { Relation } from "../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { Fragment, SqlValue } from "../sql/fragment.ts";
import type { DocumentPath } from "../filter/document_path.ts";

/** One key of the order in a plan. NULLs come last in both directions. */
export interface OrderKey {
  readonly column: ColumnInfo;
  readonly descending: boolean;
  /** True if the filter excludes rows with NULL in this column, although the column allows NULL. */
  readonly withoutNulls?: true;
  /** True if rows can have NULL although the column is NOT NULL, as rows of a function can. */
  readonly isNullable?: true;
}

/** A position among rows with equal values: `skip` rows after the first row with `values`. */
export interface OffsetPosition {
  /** The stored values of the first sort keys. Empty if `skip` counts from the first row of all. */
  readonly values: readonly SqlValue[];
  readonly skip: number;
}

/** A column that the read adds to each row: the value of a column in a related row. */
export interface RelatedColumn {
  readonly column: ColumnInfo;
  readonly source: ColumnInfo;
  readonly relation: Relation;
  /** The filter of the related rows. The value is NULL if no related row matches. */
  readonly where: Filter;
}

/** A column that the read adds: the value at a JSON path, or NULL if its type is not `type`. */
export interface PathColumn extends DocumentPath {
  readonly column: ColumnInfo;
  readonly type: "number" | "text" | "boolean";
}

/** A plan that reads rows. The order ends in the primary key, or else in all sortable columns. */
export interface ReadPlan {
  readonly kind: "read";
  readonly table: TableInfo;
  readonly columns: readonly ColumnInfo[];
  readonly where: Filter;
  readonly order: readonly OrderKey[];
  /** The stored sort key values of the row before the page. Null for the first page. */
  readonly after: readonly SqlValue[] | null;
  /** Replaces `after` if several rows can have equal sort key values. `after` is then null. */
  readonly from?: OffsetPosition;
  readonly offset?: number;
  /** The maximum number of rows. Null if at most one row can match. */
  readonly limit: number | null;
  readonly lock?: true;
  readonly preview?: PreviewSettings;
  readonly added?: readonly (RelatedColumn | PathColumn)[];
}

/** Settings for truncating long values in the SELECT, so that the database does not send them. */
export interface PreviewSettings {
  /** The maximum length of a value: characters of a string or document, or bytes of binary data. */
  readonly length: number;
  /** The truncated columns. Sort keys are truncated later, because cursors contain them whole. */
  readonly cut: ReadonlySet<ColumnInfo>;
}

/** A row's values in the columns by which a relation finds its related rows, in column order. */
export type RelatedKey = readonly unknown[];

export interface RelatedKeys {
  readonly relation: Relation;
  /** The JavaScript values of the columns at which the relation starts. No value is null. */
  readonly keys: readonly RelatedKey[];
  readonly links: Filter;
  /** True if no index contains the columns by which the relation's first step finds rows. */
  readonly isUnindexed: boolean;
}

export interface RelatedPlan extends RelatedKeys {
  readonly kind: "related";
  readonly columns: readonly ColumnInfo[];
  readonly where: Filter;
  readonly order: readonly OrderKey[];
  readonly limit: number;
  /** The maximum number of related rows for all keys together. */
  readonly most: number;
  /** True if an index finds the related rows of a key, and no primary key column can be NULL. */
  readonly byIndex: boolean;
}

/** Reads matching rows, by rank and then key. The last value of each row counts all matches. */
export interface SearchPlan {
  readonly kind: "search";
  readonly table: TableInfo;
  readonly columns: readonly ColumnInfo[];
  readonly where: Filter;
  readonly matches: Fragment;
  readonly limit: number;
  readonly offset: number;
}

export interface CountPlan {
  readonly kind: "count";
  readonly table: TableInfo;
  readonly where: Filter;
}

export interface EstimatePlan {
  readonly kind: "estimate";
  readonly table: TableInfo;
  readonly where: Filter;
}

/** As a value in a write plan: the database sets the column's default. */
export const databaseDefault: unique symbol = Symbol("database default");

/** As a value in an update plan: the database adds one to the stored integer. */
export const incrementedValue: unique symbol = Symbol("one more");

/** As a value in an update plan: the stored value stays. */
export const keepStoredValue: unique symbol = Symbol("stored value");

/** The values to write, or placeholders such as {@link keepStoredValue}, by column. */
export type Assignments = ReadonlyMap<ColumnInfo, unknown>;

export type InsertValues = Pick<Assignments, "get" | "has">;

export interface InsertPlan {
  readonly kind: "insert";
  readonly table: TableInfo;
  /** The columns that the INSERT names. Only an INSERT of a single row can name no columns. */
  readonly columns: readonly ColumnInfo[];
  /** The values of at least one row. A column without a value gets the database's default. */
  readonly rows: readonly InsertValues[];
  readonly returning: readonly ColumnInfo[];
  readonly within?: RequiredScope;
}

/**
 * A filter. If a written row does not match it, the statement fails as `outside-scope`. The
 * statement must return columns, and the dialect must have `requireRow`.
 */
export type RequiredScope = Filter;

/** `set` is never empty. */
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
  /** The result column that contains the group key. `having` and the order can use this column. */
  readonly as: ColumnInfo;
}

export type Metric = CountMetric | ColumnMetric;

export interface CountMetric {
  readonly name: "count";
  /** The column whose non-NULL values are counted, or null to count rows. */
  readonly column: ColumnInfo | null;
  readonly as: ColumnInfo;
}

/** A metric of a column's non-NULL values, such as a sum. NULL for a group without such values. */
export interface ColumnMetric {
  readonly name: "sum" | "avg" | "min" | "max";
  readonly column: ColumnInfo;
  readonly as: ColumnInfo;
  /** True if the result keeps all digits. The dialect then decodes the engine's number format. */
  readonly exact: boolean;
}

export interface AggregatePlan {
  readonly kind: "aggregate";
  readonly table: TableInfo;
  readonly where: Filter;
  /** The keys of the groups. Without keys, all rows are one group, even if there is no row. */
  readonly keys: readonly GroupKey[];
  readonly metrics: readonly Metric[];
  readonly having: Filter;
  readonly order: readonly OrderKey[];
  readonly limit: number;
  readonly isQuick?: true;
  /** If present, the rows related to each key form a group, with the key's index as group key. */
  readonly relatedTo?: RelatedKeys;
}

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
