import type { Relation } from "../../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";

/** The shape of a filter's walk along one relation: how often it looks at the related rows. */
export interface WalkShape {
  /** True if the related rows that pass must be found once for all rows. */
  readonly isOnce: boolean;
  /** True if the walk then looks at each related row once at most. */
  readonly looksOnce: boolean;
}

/**
 * Decides how a filter walks a relation. Row by row, the walk costs as much as the rows that it
 * looks at: one for each row where the other column is unique, and each related row once where each
 * belongs to one of the rows. Everything else multiplies: `author.posts` of posts looks at all posts
 * of an author for each of them, and without an index a row reads the whole related table.
 *
 * `looksOnce` says whether the walk so far looks at each of the rows once at most.
 */
export function walkShape(
  { owner, steps: [step, second] }: Relation,
  looksOnce: boolean,
  isIndexed: (column: ColumnInfo) => boolean,
): WalkShape {
  const isOwned = looksOnce && isUnique(step.own, owner);
  const others = step.other;
  const isOnce = !isUnique(others, step.table) && !(isOwned && others.some(isIndexed));
  const looksOnceThere = isOnce || isOwned;
  return {
    isOnce,
    looksOnce: looksOnceThere &&
      (second === undefined || isUnique(second.own, step.table)),
  };
}

function isUnique(columns: readonly ColumnInfo[], { primaryKey, distinct }: TableInfo): boolean {
  return columns.some(({ unique }) => unique) ||
    (distinct && primaryKey.every((column) => columns.includes(column)));
}
