import type { OrderKey } from "../plan/plan.ts";
import type { Dialect } from "../sql/dialect.ts";
import { type Fragment, join, rawSql, sql, type SqlValue } from "../sql/fragment.ts";

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
