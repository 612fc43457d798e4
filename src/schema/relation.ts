import type { ColumnInfo, TableInfo } from "./table_info.ts";

/** How the rows of one table lead to rows of another: one step, or two by way of a link table. */
export interface Relation {
  /** As scopes write it. */
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
  readonly steps: readonly RelationStep[];
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

/** The relations of each table, by name. */
export type Relations = ReadonlyMap<TableInfo, ReadonlyMap<string, Relation>>;

/** No relations at all. */
export const noRelations: Relations = Object.freeze(new Map());
