import type { OrderKey } from "../plan/plan.ts";
import type { Dialect } from "../sql/dialect.ts";
import { columnOf, type Fragment, join, rawSql, sql, type SqlValue } from "../sql/fragment.ts";

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

/** Rows that follow one another in an order, and all come before or after those of another range. */
export interface OrderedRange {
  /** Null if it is all rows. */
  readonly condition: Fragment | null;
  /** What is left of the order: within the range some keys have one value. */
  readonly order: readonly OrderKey[];
}

/**
 * Cuts the rows of an order, or those after a position of it, into ranges, in their order: those
 * with the same first key as the position, those with a later one, those with none. An index leads
 * to the beginning of each range and walks it, but of no two by one condition.
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

/** The rows with NULL in the first key: all, or those after a position of the other keys. */
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

/** The order of rows that have a value in the first key. */
function known(order: readonly OrderKey[]): readonly OrderKey[] {
  const [first, ...rest] = order;
  if (first === undefined || first.column.notNull) return order;
  return [{ ...first, column: { ...first.column, notNull: true } }, ...rest];
}

/** Returns true if rows compare by these keys as a list of them does. */
function isUniform(keys: readonly OrderKey[], descending: boolean): boolean {
  return keys.every((key) => key.descending === descending && key.column.notNull);
}

/** By one comparison of rows, for which an index over all the keys is walked from the position on. */
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
  // A condition on the first key that follows from the other, so that an index bounds the scan.
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
  // NULL is the last value of a key: after it there are only rows with the same NULL.
  if (value === null) return sql`(${operand} IS NULL AND ${rest})`;
  const bound = dialect.boundStored(value, key.column);
  const related = sql`${operand} ${rawSql(key.descending ? "<" : ">")} ${bound}`;
  const orNull = key.column.notNull ? rawSql("") : sql` OR ${operand} IS NULL`;
  if (index === order.length - 1) return sql`(${related}${orNull})`;
  return sql`(${related}${orNull} OR (${operand} = ${bound} AND ${rest}))`;
}
