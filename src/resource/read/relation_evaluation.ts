import type { Relation } from "../../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";

/** How often a filter examines the related rows of one relation. */
export interface RelationEvaluation {
  /** True if the matching related rows must be found once, for all rows together. */
  readonly isOnce: boolean;
  /** True if the filter examines each related row at most once. */
  readonly looksOnce: boolean;
}

/**
 * Decides how a filter examines the rows of a relation. If the filter is evaluated row by row, the
 * cost is the number of related rows that it examines. The cost is low if the other column is
 * unique, or if each related row belongs to only one row. Otherwise the costs multiply. For
 * example, `author.posts` in a filter of posts examines all posts of an author for each post.
 * Without an index, each row scans the related table.
 *
 * `looksOnce` is true if the filter so far examines each of the rows at most once.
 */
export function planRelationEvaluation(
  { owner, steps: [step, second] }: Relation,
  looksOnce: boolean,
  isIndexed: (column: ColumnInfo) => boolean,
): RelationEvaluation {
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
