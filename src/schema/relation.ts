import { kindProperties } from "./kinds/kind_properties.ts";
import type { ColumnInfo, TableInfo } from "./table_info.ts";

/** A relation from rows of one table to rows of another, directly or through a link table. */
export interface Relation {
  /** Name of the relation in scopes, in filters and in `include`. */
  readonly name: string;
  /** The table from whose rows the relation starts. */
  readonly owner: TableInfo;
  /** The table with the related rows. */
  readonly target: TableInfo;
  /** The type of the relation, which says which table has the foreign key. */
  readonly type: "belongsTo" | "hasOne" | "hasMany" | "manyToMany";
  /** True if filters in requests can use the relation. */
  readonly filterable: boolean;
  /** True if a row can have several related rows. */
  readonly toMany: boolean;
  /** One step, or two for a relation through a link table. */
  readonly steps: readonly [RelationStep] | readonly [RelationStep, RelationStep];
}

/** A step from a row to the rows of `table` with equal values in all pairs. NULL equals nothing. */
export interface RelationStep {
  /** The table to which the step leads. */
  readonly table: TableInfo;
  /** The pairs of columns whose values must be equal. */
  readonly pairs: ColumnPairs;
  /** The compared columns of the table at which the step starts. */
  readonly own: readonly ColumnInfo[];
  /** The compared columns of the table to which the step leads. */
  readonly other: readonly ColumnInfo[];
}

/** The pairs of columns to compare: one for each column of the foreign key. */
export type ColumnPairs = readonly [ColumnPair, ...ColumnPair[]];

/** Two columns whose values a step compares. */
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

export function relationStep(table: TableInfo, pairs: ColumnPairs): RelationStep {
  return { table, pairs, own: pairs.map(({ own }) => own), other: pairs.map(({ other }) => other) };
}

export type Relations = ReadonlyMap<string, Relation>;

export function canRelate(own: ColumnInfo, other: ColumnInfo): boolean {
  if (isAny(own)) return isAny(other) || anyFamilies.has(kindProperties[other.kind].family);
  if (isAny(other)) return anyFamilies.has(kindProperties[own.kind].family);
  const family = kindProperties[own.kind].family;
  if (family === null || family !== kindProperties[other.kind].family) return false;
  // Only the database can compare values of types such as `inet`, and only with the same type.
  if (own.databaseType?.sqlName !== other.databaseType?.sqlName) return false;
  return family !== "timestamp" || own.timestampFormat === other.timestampFormat;
}

function isAny({ databaseType }: ColumnInfo): boolean {
  return databaseType?.shape.kind === "any";
}

const anyFamilies: ReadonlySet<string | null> = new Set(["text", "number"]);
