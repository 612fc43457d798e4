import type { ColumnInfo, TableInfo } from "./table_info.ts";

/** How the rows of one table lead to rows of another: one step, or two by way of a link table. */
export interface Relation {
  readonly name: string;
  readonly owner: TableInfo;
  readonly target: TableInfo;
  readonly toMany: boolean;
  readonly steps: readonly RelationStep[];
}

/** One step: from a row to the rows of `table` whose `other` columns equal the row's `own` ones. */
export interface RelationStep {
  readonly table: TableInfo;
  readonly own: ColumnInfo;
  readonly other: ColumnInfo;
}

/** The relations of each table, by name. */
export type Relations = ReadonlyMap<TableInfo, ReadonlyMap<string, Relation>>;

/** No relations at all. */
export const noRelations: Relations = Object.freeze(new Map());
