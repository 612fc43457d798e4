import type { OffsetPosition, OrderKey, ReadPlan } from "../plan/plan.ts";
import type { ColumnInfo } from "../schema/table_info.ts";
import type { Dialect } from "../sql/dialect.ts";
import { type Fragment, rawSql, sql, type SqlValue } from "../sql/fragment.ts";

/**
 * Compiles the condition for the rows at or after a position in an order. NULLs come last. Returns
 * null if all rows meet the condition.
 */
export function compileAtOrAfterPosition(
  order: readonly OrderKey[],
  { values }: OffsetPosition,
  dialect: Dialect,
): Fragment | null {
  const [first] = order;
  const [value = null] = values;
  if (first === undefined || values.length === 0) return null;
  const reached = compileFrom(order, values, dialect, 0);
  if (values.length === 1 || value === null) return reached;
  // `reached` implies the first condition, but only the first lets the database use an index.
  return sql`(${atLeast(first, value, dialect)} AND ${reached})`;
}

function compileFrom(
  order: readonly OrderKey[],
  values: readonly SqlValue[],
  dialect: Dialect,
  index: number,
): Fragment {
  const key = order[index];
  if (key === undefined) throw new Error("A position has more values than its order has keys");
  const value = values[index] ?? null;
  const isLast = index === values.length - 1;
  const operand = dialect.ordered(key.column);
  if (value === null) {
    const isNull = sql`${operand} IS NULL`;
    return isLast ? isNull : sql`(${isNull} AND ${compileFrom(order, values, dialect, index + 1)})`;
  }
  if (isLast) return atLeast(key, value, dialect);
  const bound = dialect.boundStored(value, key.column);
  const rest = compileFrom(order, values, dialect, index + 1);
  const beyond = sql`${operand} ${rawSql(key.descending ? "<" : ">")} ${bound}`;
  return sql`(${beyond}${orNull(key.column, operand)} OR (${operand} = ${bound} AND ${rest}))`;
}

function atLeast({ column, descending }: OrderKey, value: SqlValue, dialect: Dialect): Fragment {
  const operand = dialect.ordered(column);
  const bound = dialect.boundStored(value, column);
  return sql`(${operand} ${rawSql(descending ? "<=" : ">=")} ${bound}${orNull(column, operand)})`;
}

function orNull({ notNull }: ColumnInfo, operand: Fragment): Fragment {
  return notNull ? rawSql("") : sql` OR ${operand} IS NULL`;
}

/**
 * Compiles the last columns of an order, for rows that are equal in all keys. With these columns,
 * the order is the same for each page, except that identical rows can change places.
 */
export function compileTieBreak(
  { table, order }: Pick<ReadPlan, "table" | "order">,
  dialect: Dialect,
): readonly Fragment[] {
  return dialect.distinguished(table.columns, new Set(order.map(({ column }) => column)));
}
