import type { OrderKey, ReadPlan } from "../plan/plan.ts";
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
import { previewList } from "./preview_list.ts";
import { compileReached, compileTieBreak } from "./reach.ts";
import { compileFilter, mayScan } from "./where.ts";

/** The facts that a compiler caches of the tables whose rows it reads. */
export interface ReadContext {
  readonly dialect: Dialect;
  /** Returns the check that can end a scan, or null if the engine itself ends it. */
  checkOf(table: TableInfo): Fragment | null;
  selectList(columns: readonly ColumnInfo[]): Fragment;
}

/** Compiles the SELECT of rows in an order, after a position of it if there is one. */
export function compileReadRows(plan: ReadPlan, context: ReadContext): Fragment {
  const { dialect } = context;
  const ranges = rangesOf(plan, dialect);
  const page = (columns: Fragment) => compileRanges(plan, { ranges, columns }, context);
  const columns = plan.preview === undefined
    ? context.selectList(plan.columns)
    : previewList(plan, { preview: plan.preview, page, dialect });
  return sql`${page(columns)}${limitTo(plan)}${plan.lock === true ? dialect.rowLock : rawSql("")}`;
}

/** Returns one range for all rows if no page is cut, and if rows of it are skipped. */
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

/** Compiles the ranges, without the limit of the page, which follows. */
function compileRanges(
  plan: ReadPlan,
  { ranges, columns }: SelectedRanges,
  context: ReadContext,
): Fragment {
  const [range, ...others] = ranges;
  if (range === undefined) throw new Error("Cannot read rows: their order has no range");
  if (others.length === 0) return compileRange(plan, range, columns, context);
  // The ranges are in order: a database starts one only if the previous ones are too short.
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

/** Returns the limit as text, since SQLite takes 8 µs longer for a bound one. */
function limitTo({ limit, from, offset = 0 }: ReadPlan): Fragment {
  const skipped = offset + (from?.skip ?? 0);
  const skip = skipped === 0 ? "" : ` OFFSET ${skipped}`;
  return rawSql(limit === null ? "" : ` LIMIT ${limit}${skip}`);
}

/** Returns the limit of a range. Only the combined ranges show which rows are skipped. */
function limitOfRange({ limit, offset = 0 }: ReadPlan): Fragment {
  return rawSql(limit === null ? "" : ` LIMIT ${limit + offset}`);
}

/**
 * Compiles an order to the SQL after `ORDER BY`, with NULLs last in both directions. `NULLS LAST`
 * is left out for NOT NULL columns: Postgres then can use a plain index for DESC too.
 */
export function compileOrder(order: readonly OrderKey[], dialect: Dialect): Fragment {
  const keys = order.map(({ column, descending }) => {
    const direction = descending ? " DESC" : "";
    const nulls = column.notNull ? "" : " NULLS LAST";
    return sql`${dialect.ordered(column)}${rawSql(direction + nulls)}`;
  });
  return join(keys, ", ");
}

/** Adjacent rows in an order, all of which precede or follow those of another range. */
export interface OrderedRange {
  /** The condition, or null for all rows. */
  readonly condition: Fragment | null;
  /** The remaining order, because some keys have only one value within the range. */
  readonly order: readonly OrderKey[];
}

/**
 * Divides the rows of an order, or those after a position, into ordered ranges: rows with the same
 * first key as the position, rows with a later one, rows with none. An index finds the beginning of
 * each range and scans it, but cannot do so for two ranges by one condition.
 */
export function orderedRanges(
  order: readonly OrderKey[],
  after: readonly SqlValue[] | null,
  dialect: Dialect,
): readonly OrderedRange[] {
  const [first, ...rest] = order;
  if (first === undefined) return [{ condition: after === null ? null : rawSql("1=0"), order }];
  const { column } = first;
  if (after === null) {
    if (column.notNull) return [{ condition: null, order }];
    const isKnown = sql`${columnOf(column)} IS NOT NULL`;
    return [
      { condition: isKnown, order: known(order) },
      ...withoutFirst(rest, null, first, dialect),
    ];
  }
  const [value = null, ...values] = after;
  if (value === null) return withoutFirst(rest, values, first, dialect);
  const nulls = column.notNull ? [] : withoutFirst(rest, null, first, dialect);
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

/** Returns the rows with NULL in the first key, or those after a position of the others. */
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

/** Returns the order of rows that have a value in the first key. */
function known(order: readonly OrderKey[]): readonly OrderKey[] {
  const [first, ...rest] = order;
  if (first === undefined || first.column.notNull) return order;
  return [{ ...first, column: { ...first.column, notNull: true } }, ...rest];
}

/** Returns true if a comparison of rows by these keys equals the order. */
function isUniform(keys: readonly OrderKey[], descending: boolean): boolean {
  return keys.every((key) => key.descending === descending && key.column.notNull);
}

/** Compiles one comparison of rows, for which an index over all keys is scanned. */
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

/**
 * Compiles the condition for the rows after a position of an order: lexicographic, and never a
 * comparison with NULL. `values` are stored values as the driver read them.
 */
export function compileSeek(
  order: readonly OrderKey[],
  values: readonly SqlValue[],
  dialect: Dialect,
): Fragment {
  const [first] = order;
  const after = compileAfter(order, values, dialect, 0);
  const value = values[0] ?? null;
  if (first === undefined || order.length === 1 || value === null || !first.column.notNull) {
    return after;
  }
  // This condition on the first key follows from the other one. With it, an index bounds the scan.
  const operand = dialect.ordered(first.column);
  const bound = dialect.boundStored(value, first.column);
  const reached = sql`${operand} ${rawSql(first.descending ? "<=" : ">=")} ${bound}`;
  return sql`(${reached} AND ${after})`;
}

function compileAfter(
  order: readonly OrderKey[],
  values: readonly SqlValue[],
  dialect: Dialect,
  index: number,
): Fragment {
  const key = order[index];
  if (key === undefined) return rawSql("1=0");
  const value = values[index] ?? null;
  const operand = dialect.ordered(key.column);
  const rest = compileAfter(order, values, dialect, index + 1);
  // NULL is the last value of a key, so only rows with NULL follow.
  if (value === null) return sql`(${operand} IS NULL AND ${rest})`;
  const bound = dialect.boundStored(value, key.column);
  const related = sql`${operand} ${rawSql(key.descending ? "<" : ">")} ${bound}`;
  const orNull = key.column.notNull ? rawSql("") : sql` OR ${operand} IS NULL`;
  if (index === order.length - 1) return sql`(${related}${orNull})`;
  return sql`(${related}${orNull} OR (${operand} = ${bound} AND ${rest}))`;
}
