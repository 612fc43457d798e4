import type { ReadPlan } from "../plan/plan.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { Dialect } from "../sql/dialect.ts";
import { type Fragment, identifier, join, rawSql, sql, tableName } from "../sql/fragment.ts";
import { compileOrder, compileSeek, type OrderedRange, orderedRanges } from "./order.ts";
import { previewList } from "./preview_list.ts";
import { compileReached, compileTieBreak } from "./reach.ts";
import { mayScan } from "./scan_check.ts";
import { compileFilter } from "./where.ts";

/** What a compiler keeps of the tables whose rows it reads. */
export interface ReadContext {
  readonly dialect: Dialect;
  /** What can end a statement that looks at many rows; null if the engine ends it by itself. */
  checkOf(table: TableInfo): Fragment | null;
  /** The select list of columns. */
  selectList(columns: readonly ColumnInfo[]): Fragment;
}

/** Compiles the SELECT of rows in an order, after a position of it where there is one. */
export function compileReadRows(plan: ReadPlan, context: ReadContext): Fragment {
  const { dialect } = context;
  const ranges = rangesOf(plan, dialect);
  const page = (columns: Fragment) => compileRanges(plan, { ranges, columns }, context);
  const columns = plan.preview === undefined
    ? context.selectList(plan.columns)
    : previewList(plan, { preview: plan.preview, page, dialect });
  return sql`${page(columns)}${limitTo(plan)}${plan.lock === true ? dialect.rowLock : rawSql("")}`;
}

/** One for all rows where no page is cut, and where rows of it are skipped. */
function rangesOf(plan: ReadPlan, dialect: Dialect): readonly OrderedRange[] {
  const { order, after, from, limit, lock } = plan;
  if (from !== undefined) return [{ condition: compileReached(order, from, dialect), order }];
  if (limit !== null && lock !== true) return orderedRanges(order, after, dialect);
  return [{ condition: after && compileSeek(order, after, dialect), order }];
}

interface SelectedRanges {
  readonly ranges: readonly OrderedRange[];
  /** The select list. */
  readonly columns: Fragment;
}

/** Without the limit of the page, which follows. */
function compileRanges(
  plan: ReadPlan,
  { ranges, columns }: SelectedRanges,
  context: ReadContext,
): Fragment {
  const [range, ...others] = ranges;
  if (range === undefined) throw new Error("Cannot read rows: their order has no range");
  if (others.length === 0) return compileRange(plan, range, columns, context);
  // In the order of the list: a database begins a range only when those before it are too short.
  const selects = ranges.map((one, index) => {
    const rows = sql`${compileRange(plan, one, columns, context)}${limitOfRange(plan)}`;
    return sql`SELECT * FROM (${rows}) AS ${identifier(`_range${index}`)}`;
  });
  return join(selects, " UNION ALL ");
}

function compileRange(
  plan: ReadPlan,
  range: OrderedRange,
  columns: Fragment,
  { dialect, checkOf }: ReadContext,
): Fragment {
  const check = mayScan(plan) ? checkOf(plan.table) : null;
  const conditions = [
    ...(check === null ? [] : [check]),
    ...(plan.where.kind === "all" ? [] : [compileFilter(plan.where, dialect)]),
    ...(range.condition === null ? [] : [range.condition]),
  ];
  const where = conditions.length === 0 ? rawSql("") : sql` WHERE ${join(conditions, " AND ")}`;
  const keys = [
    ...(range.order.length === 0 ? [] : [compileOrder(range.order, dialect)]),
    ...(plan.from === undefined ? [] : compileTieBreak(plan, dialect)),
  ];
  const order = keys.length === 0 ? rawSql("") : sql` ORDER BY ${join(keys, ", ")}`;
  return sql`SELECT ${columns} FROM ${tableName(plan.table)}${where}${order}`;
}

/** In the text, as it is a number of the service: SQLite takes 8 µs longer for a bound limit. */
function limitTo({ limit, from, offset = 0 }: ReadPlan): Fragment {
  const skipped = offset + (from?.skip ?? 0);
  const skip = skipped === 0 ? "" : ` OFFSET ${skipped}`;
  return rawSql(limit === null ? "" : ` LIMIT ${limit}${skip}`);
}

/** Of which range the skipped rows are is known once the ranges are put together. */
function limitOfRange({ limit, offset = 0 }: ReadPlan): Fragment {
  return rawSql(limit === null ? "" : ` LIMIT ${limit + offset}`);
}
