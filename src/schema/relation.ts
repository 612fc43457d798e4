import type { ColumnInfo, ColumnKind, TableInfo } from "./table_info.ts";

/** How the rows of one table lead to rows of another: one step, or two by way of a link table. */
export interface Relation {
  /** As scopes, filters and `include` write it. */
  readonly name: string;
  /** Where it begins. */
  readonly owner: TableInfo;
  /** Where it ends. */
  readonly target: TableInfo;
  /** Where the foreign keys stand. */
  readonly type: "belongsTo" | "hasOne" | "hasMany" | "manyToMany";
  /** Whether the filter of a request may walk it. */
  readonly filterable: boolean;
  /** Whether a row may have several related ones. */
  readonly toMany: boolean;
  /** One, or two by way of a link table. */
  readonly steps: readonly [RelationStep] | readonly [RelationStep, RelationStep];
}

/** One step: from a row to the rows of `table` whose `other` columns equal the row's `own` ones. */
export interface RelationStep {
  /** The table that the step leads to. */
  readonly table: TableInfo;
  /** A column of the row that one comes from. */
  readonly own: ColumnInfo;
  /** The column of `table` that must equal it. */
  readonly other: ColumnInfo;
}

/** The relations of one resource, by name. */
export type Relations = ReadonlyMap<string, Relation>;

/** Whether a relation can stand on these columns: their values must be able to be equal, exactly. */
export function canRelate(own: ColumnInfo, other: ColumnInfo): boolean {
  const family = families[own.kind];
  if (family === null || family !== families[other.kind]) return false;
  return family !== "timestamp" || own.timestampFormat === other.timestampFormat;
}

/** Null for what has no equality, and for doubles, whose equality hangs on how they were written. */
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
