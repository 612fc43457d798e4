import type { Relation } from "../../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";

/** How often the database evaluates the related rows of one relation in a filter. */
export interface RelationEvaluation {
  /** True if the matching related rows must be found once, instead of separately for each row. */
  readonly isOnce: boolean;
  /** True if each related row is examined at most once. */
  readonly looksOnce: boolean;
}

/**
 * Decides how the database finds related rows for a filter: separately for each row, or once. A
 * search for each row is cheap if the related column is unique, or if each related row belongs to
 * only one row. Otherwise the costs multiply. For example, `author.posts` in a filter of posts
 * examines all posts of an author for each post. Without an index, each search scans the related
 * table.
 *
 * `looksOnce` is true if the preceding relations of the filter lead to each row at most once.
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
