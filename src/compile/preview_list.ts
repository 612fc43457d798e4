import type { PreviewSettings, ReadPlan } from "../plan/plan.ts";
import type { Dialect } from "../sql/dialect.ts";
import { type Fragment, join, rawSql, sql } from "../sql/fragment.ts";

/** The input for the select list of a read that truncates long values. */
export interface PreviewSelectListOptions {
  readonly preview: PreviewSettings;
  /** Returns a SELECT of columns for the same page of rows, in order. */
  readonly page: (columns: Fragment) => Fragment;
  readonly dialect: Dialect;
}

/**
 * Compiles the select list of a read that truncates long values. It contains the columns, then the
 * whole values of the sort keys in the page's last row, after which the next page begins. One
 * statement reads both, because the row could change between two statements.
 */
export function compilePreviewSelectList(
  { columns, table: { primaryKey }, limit, offset = 0 }: ReadPlan,
  { preview: { length, cut, whole }, page, dialect }: PreviewSelectListOptions,
): Fragment {
  const cells = columns.map((column) =>
    cut.has(column) ? dialect.preview.selected(column, length) : dialect.selected(column)
  );
  if (whole.length === 0 || limit === null || limit < 2) return join(cells, ", ");
  const key = join(primaryKey.map((column) => dialect.operand(column)), ", ");
  const last = sql`${page(key)} LIMIT 1 OFFSET ${rawSql(String(limit - 2 + offset))}`;
  const positions = whole.map((column) =>
    sql`CASE WHEN (${key}) = (${last}) THEN ${dialect.selected(column)} END`
  );
  return join([...cells, ...positions], ", ");
}
