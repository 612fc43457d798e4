import type { Filter } from "../filter/filter.ts";
import type { Operator } from "../filter/operators/operator.ts";
import {
  betweenOperator,
  equalitySql,
  equalOperator,
  greaterOperator,
  greaterOrEqualOperator,
  lessOperator,
  lessOrEqualOperator,
} from "../filter/operators/operator_registry.ts";
import type { OrderKey, PreviewSettings, ReadPlan, SearchPlan } from "../plan/plan.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { Dialect } from "../sql/dialect.ts";
import {
  columnOf,
  type Fragment,
  identifier,
  join,
  rawSql,
  sql,
  type SqlValue,
  tableName,
} from "../sql/fragment.ts";
import { compileFromPosition, compileTieBreak } from "./position_conditions.ts";
import { compileAddedColumn, compileFilter, mayScan, prependScanCheck } from "./where.ts";
import { matchKeyColumn, matchRankColumn } from "../sql/match_names.ts";

export interface ReadContext {
  readonly dialect: Dialect;
  /** Returns SQL that can stop a scan, or null if the engine itself can interrupt statements. */
  checkOf(table: TableInfo): Fragment | null;
  selectList(columns: readonly ColumnInfo[]): Fragment;
}

export function compileReadRows(plan: ReadPlan, context: ReadContext): Fragment {
  const { dialect } = context;
  const ranges = rangesOf(plan, dialect);
  const page = (columns: Fragment) => compileRanges(plan, { ranges, columns }, context);
  const columns = plan.preview === undefined
    ? context.selectList(plan.columns)
    : compilePreviewSelectList(plan, plan.preview, dialect);
  const locks = plan.lock === true && plan.table.view?.locksRows !== false;
  return sql`${page(columns)}${limitTo(plan)}${locks ? dialect.rowLock : rawSql("")}`;
}

/** Returns the ranges to read one after the other: one range if the plan locks or has no limit. */
function rangesOf(plan: ReadPlan, dialect: Dialect): readonly OrderedRange[] {
  const { order, after, from, limit, lock, added } = plan;
  if (from !== undefined) {
    return [{ condition: compileFromPosition(order, from.values, dialect, true), order }];
  }
  if (limit !== null && lock !== true && added === undefined) {
    const [first] = order;
    const isKnown = first !== undefined && excludesNull(plan.where, first.column);
    return orderedRanges(isKnown ? known(order) : order, after, dialect);
  }
  return [{ condition: after && compileFromPosition(order, after, dialect, false), order }];
}

function excludesNull(where: Filter, column: ColumnInfo): boolean {
  if (where.kind === "and") return where.terms.some((term) => excludesNull(term, column));
  return where.kind === "compare" && where.column === column && where.path === undefined &&
    comparisonsWithValues.has(where.operator);
}

/** Operators whose result is never true for NULL. */
const comparisonsWithValues: ReadonlySet<Operator> = new Set([
  equalOperator,
  greaterOperator,
  greaterOrEqualOperator,
  lessOperator,
  lessOrEqualOperator,
  betweenOperator,
]);

interface SelectedRanges {
  readonly ranges: readonly OrderedRange[];
  readonly columns: Fragment;
}

function compileRanges(
  plan: ReadPlan,
  { ranges, columns }: SelectedRanges,
  context: ReadContext,
): Fragment {
  const [range, ...others] = ranges;
  if (range === undefined) throw new Error("Cannot read rows: their order has no range");
  if (others.length === 0) return compileRange(plan, range, columns, context);
  // The ranges are in order. The database scans a range only if previous ranges had too few rows.
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
  return sql`SELECT ${columns} FROM ${rowsOf(plan, dialect)}${where}${order}`;
}

function rowsOf({ table, added }: ReadPlan, dialect: Dialect): Fragment {
  if (added === undefined) return tableName(table);
  return dialect.withAddedColumns(table, added.map((one) => compileAddedColumn(one, dialect)));
}

/** Returns LIMIT with its numbers as text, because binding them costs 8 µs in SQLite. */
function limitTo({ limit, from, offset = 0 }: ReadPlan): Fragment {
  const skipped = offset + (from?.skip ?? 0);
  const skip = skipped === 0 ? "" : ` OFFSET ${skipped}`;
  return rawSql(limit === null ? "" : ` LIMIT ${limit}${skip}`);
}

/** Returns the LIMIT of one range. It includes the rows that the outer OFFSET will skip. */
function limitOfRange({ limit, offset = 0 }: ReadPlan): Fragment {
  return rawSql(limit === null ? "" : ` LIMIT ${limit + offset}`);
}

/** NULLs are last. NOT NULL columns omit `NULLS LAST`, so that Postgres can use a plain index. */
export function compileOrder(order: readonly OrderKey[], dialect: Dialect): Fragment {
  const keys = order.map((key) => {
    const direction = key.descending ? " DESC" : "";
    const nulls = mayBeNull(key) ? " NULLS LAST" : "";
    return sql`${dialect.ordered(key.column)}${rawSql(direction + nulls)}`;
  });
  return join(keys, ", ");
}

/** Consecutive rows of an order. Every other range is entirely before or after these rows. */
interface OrderedRange {
  readonly condition: Fragment | null;
  /** The order within the range. Keys that have the same value in the whole range are omitted. */
  readonly order: readonly OrderKey[];
}

/**
 * Divides the rows after a position by the first key: equal values, later values, and NULL. An
 * index scan can read one such range, but not two ranges that OR combines.
 */
function orderedRanges(
  order: readonly OrderKey[],
  after: readonly SqlValue[] | null,
  dialect: Dialect,
): readonly OrderedRange[] {
  const [first, ...rest] = order;
  if (first === undefined) return [{ condition: after === null ? null : rawSql("1=0"), order }];
  const { column } = first;
  if (after === null) {
    if (!mayBeNull(first)) return [{ condition: null, order }];
    const isKnown = sql`${columnOf(column)} IS NOT NULL`;
    return [
      { condition: isKnown, order: known(order) },
      ...withoutFirst(rest, null, first, dialect),
    ];
  }
  const [value = null, ...values] = after;
  if (value === null) return withoutFirst(rest, values, first, dialect);
  const nulls = mayBeNull(first) ? withoutFirst(rest, null, first, dialect) : [];
  const operand = dialect.ordered(column);
  const bound = dialect.boundStored(value, column);
  const later = sql`${operand} ${rawSql(first.descending ? "<" : ">")} ${bound}`;
  const beyond = { condition: later, order: known(order) };
  if (rest.length === 0) return [beyond, ...nulls];
  if (dialect.comparesRows && isUniform(rest, first.descending)) {
    return [{ condition: compileRowSeek(order, after, dialect), order: known(order) }, ...nulls];
  }
  const equals = within(sql`${operand} = ${bound}`, orderedRanges(rest, values, dialect));
  return [...equals, beyond, ...nulls];
}

function withoutFirst(
  rest: readonly OrderKey[],
  after: readonly SqlValue[] | null,
  { column }: OrderKey,
  dialect: Dialect,
): readonly OrderedRange[] {
  return within(sql`${columnOf(column)} IS NULL`, orderedRanges(rest, after, dialect));
}

function within(outer: Fragment, ranges: readonly OrderedRange[]): readonly OrderedRange[] {
  return ranges.map(({ condition, order }) => ({
    condition: condition === null ? outer : sql`${outer} AND ${condition}`,
    order,
  }));
}

function known(order: readonly OrderKey[]): readonly OrderKey[] {
  const [first, ...rest] = order;
  if (first === undefined || !mayBeNull(first)) return order;
  return [{ ...first, withoutNulls: true }, ...rest];
}

function mayBeNull({ column, withoutNulls, isNullable }: OrderKey): boolean {
  return (!column.notNull || isNullable === true) && withoutNulls !== true;
}

function isUniform(keys: readonly OrderKey[], descending: boolean): boolean {
  return keys.every((key) =>
    key.descending === descending && key.column.notNull && key.isNullable !== true
  );
}

/** Compiles a comparison of all keys, as `(a, b) > (1, 2)`, which can use an index on (a, b). */
function compileRowSeek(
  order: readonly OrderKey[],
  values: readonly SqlValue[],
  dialect: Dialect,
): Fragment {
  const keys = join(order.map(({ column }) => dialect.ordered(column)), ", ");
  const bounds = join(
    order.map(({ column }, index) => dialect.boundStored(values[index] ?? null, column)),
    ", ",
  );
  return sql`(${keys}) ${rawSql(order[0]?.descending === true ? "<" : ">")} (${bounds})`;
}

/** Compiles a select list that shortens long values, except sort keys, which cursors contain. */
function compilePreviewSelectList(
  { columns, order }: ReadPlan,
  { length, cut }: PreviewSettings,
  dialect: Dialect,
): Fragment {
  const cells = columns.map((column) =>
    cut.has(column) && !order.some((key) => key.column === column)
      ? dialect.preview.selected(column, length)
      : dialect.selected(column)
  );
  return join(cells, ", ");
}

const total = identifier("_total");

/** Compiles a page of a search. CROSS JOIN makes SQLite begin with the matches. */
export function compileSearchRows(
  { table, columns, where, matches, limit, offset }: SearchPlan,
  dialect: Dialect,
  check: Fragment | null,
): Fragment {
  const { primaryKey } = table;
  const isMatch = join(
    primaryKey.map((column, index) =>
      equalitySql(column, dialect, sql`= ${matchKeyColumn(index)}`)
    ),
    " AND ",
  );
  const keys = join(primaryKey.map((_column, index) => matchKeyColumn(index)), ", ");
  const order = sql`${matchRankColumn}, ${
    compileOrder(primaryKey.map((column) => ({ column, descending: false })), dialect)
  }`;
  const passing = prependScanCheck(check, compileFilter(where, dialect));
  const page =
    sql`SELECT ${keys}, ${matchRankColumn}, count(*) OVER () AS ${total} FROM (${matches}) AS "_match" CROSS JOIN ${
      tableName(table)
    } WHERE ${isMatch} AND ${passing} ORDER BY ${order} LIMIT ${rawSql(String(limit))} OFFSET ${
      rawSql(String(offset))
    }`;
  const selected = join([...columns.map((column) => dialect.selected(column)), total], ", ");
  return sql`SELECT ${selected} FROM (${page}) AS "_page" CROSS JOIN ${
    tableName(table)
  } WHERE ${isMatch} ORDER BY ${order}`;
}
