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
  /** Null where it is all rows. */
  readonly condition: Fragment | null;
  /** What is left of the order: within the range some keys have one value. */
  readonly order: readonly OrderKey[];
}

/**
 * Cuts the rows of an order, or those after a position of it, into ranges, in their order. The rows
 * with NULL in the first key are a range of their own: an index has them at one of its ends, so
 * that it can walk each range from the position on, but not both by one condition.
 */
export function orderedRanges(
  order: readonly OrderKey[],
  after: readonly SqlValue[] | null,
  dialect: Dialect,
): readonly OrderedRange[] {
  const [first, ...rest] = order;
  if (first === undefined || first.column.notNull) {
    return [{ condition: after && compileSeek(order, after, dialect), order }];
  }
  const isNull = sql`${columnOf(first.column)} IS NULL`;
  const isWithinNulls = after !== null && (after[0] ?? null) === null;
  const nulls = orderedRanges(rest, isWithinNulls ? after.slice(1) : null, dialect).map((
    range,
  ) => ({
    ...range,
    condition: range.condition === null ? isNull : sql`${isNull} AND ${range.condition}`,
  }));
  if (isWithinNulls) return nulls;
  const known = [{ ...first, column: { ...first.column, notNull: true } }, ...rest];
  const condition = after === null
    ? sql`${columnOf(first.column)} IS NOT NULL`
    : compileSeek(known, after, dialect);
  return [{ condition, order: known }, ...nulls];
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
