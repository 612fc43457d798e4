import type { ColumnInfo, TableInfo } from "./table_info.ts";
import type { ColumnKind } from "./kind.ts";

/** A relation from the rows of one table to rows of another, directly or through a link table. */
export interface Relation {
  /** The name in scopes, filters and `include`. */
  readonly name: string;
  /** The table that it starts from. */
  readonly owner: TableInfo;
  /** The table that it leads to. */
  readonly target: TableInfo;
  /** The kind of relation, which says where the foreign keys are. */
  readonly type: "belongsTo" | "hasOne" | "hasMany" | "manyToMany";
  /** Whether the filter of a request may use it. */
  readonly filterable: boolean;
  /** Whether a row may have several related ones. */
  readonly toMany: boolean;
  /** One step, or two through a link table. */
  readonly steps: readonly [RelationStep] | readonly [RelationStep, RelationStep];
}

/**
 * One step of a relation: from a row to the rows of `table` whose `other` columns equal the row's
 * `own` ones.
 */
export interface RelationStep {
  /** The table that the step leads to. */
  readonly table: TableInfo;
  /** A column of the row that the step starts from. */
  readonly own: ColumnInfo;
  /** The column of `table` that must equal it. */
  readonly other: ColumnInfo;
}

/** The relations of one resource, by name. */
export type Relations = ReadonlyMap<string, Relation>;

/** Whether a relation can use these columns: their kinds must have a common, exact equality. */
export function canRelate(own: ColumnInfo, other: ColumnInfo): boolean {
  const family = families[own.kind];
  if (family === null || family !== families[other.kind]) return false;
  return family !== "timestamp" || own.timestampFormat === other.timestampFormat;
}

/** Null for kinds without equality, and for doubles, whose equality depends on rounding. */
const families: Readonly<Record<ColumnKind, string | null>> = {
  text: "text",
  integer: "number",
  bigint: "number",
  decimal: "number",
  real: null,
  boolean: "boolean",
  timestamp: "timestamp",
  date: "date",
  uuid: "uuid",
  json: null,
  bytes: null,
};
