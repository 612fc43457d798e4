import { kindProperties } from "./kinds/kind_properties.ts";
import type { ColumnInfo, TableInfo } from "./table_info.ts";

/** A relation from rows of one table to rows of another, directly or through a link table. */
export interface Relation {
  /** Name of the relation in scopes, in filters and in `include`. */
  readonly name: string;
  /** The table at which the relation starts. */
  readonly owner: TableInfo;
  /** The table to which the relation leads. */
  readonly target: TableInfo;
  /** Type of the relation, which determines the table that has the foreign keys. */
  readonly type: "belongsTo" | "hasOne" | "hasMany" | "manyToMany";
  /** True if the filter of a request may use the relation. */
  readonly filterable: boolean;
  /** True if one row may have several related rows. */
  readonly toMany: boolean;
  /** One step for a direct relation, or two steps for a relation through a link table. */
  readonly steps: readonly [RelationStep] | readonly [RelationStep, RelationStep];
}

/**
 * One step of a relation, from a row to related rows of `table`. Both rows must have equal values
 * in each pair of columns. If the starting row has NULL in one of these columns, it has no related
 * row.
 */
export interface RelationStep {
  /** The table to which the step leads. */
  readonly table: TableInfo;
  /** The pairs of columns whose values must be equal. */
  readonly pairs: ColumnPairs;
  /** The columns of the table at which the step starts. */
  readonly own: readonly ColumnInfo[];
  /** The columns of the table to which the step leads. */
  readonly other: readonly ColumnInfo[];
}

/** The pairs of columns of a step, one for each column of its foreign key. */
export type ColumnPairs = readonly [ColumnPair, ...ColumnPair[]];

/** Two columns that a step of a relation compares. */
export interface ColumnPair {
  /** A column of the row at which the step starts. */
  readonly own: ColumnInfo;
  /** The column of the related row that must have an equal value. */
  readonly other: ColumnInfo;
}

export function reversedPairs([first, ...more]: ColumnPairs): ColumnPairs {
  return [reversedPair(first), ...more.map(reversedPair)];
}

function reversedPair({ own, other }: ColumnPair): ColumnPair {
  return { own: other, other: own };
}

/** Creates a relation step to the rows of `table` that have equal values in all column pairs. */
export function relationStep(table: TableInfo, pairs: ColumnPairs): RelationStep {
  return { table, pairs, own: pairs.map(({ own }) => own), other: pairs.map(({ other }) => other) };
}

/** The relations of one resource, by name. */
export type Relations = ReadonlyMap<string, Relation>;

/** Returns true if a relation can compare two columns exactly. */
export function canRelate(own: ColumnInfo, other: ColumnInfo): boolean {
  // A SQLite column of ambiguous type can be compared with numbers and with strings.
  if (isAny(own)) return isAny(other) || anyFamilies.has(kindProperties[other.kind].family);
  if (isAny(other)) return anyFamilies.has(kindProperties[own.kind].family);
  const family = kindProperties[own.kind].family;
  if (family === null || family !== kindProperties[other.kind].family) return false;
  // Only the database can compare values of a database type, and only with the same type.
  if (own.databaseType?.sqlName !== other.databaseType?.sqlName) return false;
  return family !== "timestamp" || own.timestampFormat === other.timestampFormat;
}

function isAny({ databaseType }: ColumnInfo): boolean {
  return databaseType?.shape.kind === "any";
}

const anyFamilies: ReadonlySet<string | null> = new Set(["text", "number"]);
