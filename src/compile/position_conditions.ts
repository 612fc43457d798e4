import type { OrderKey, ReadPlan } from "../plan/plan.ts";
import type { Dialect } from "../sql/dialect.ts";
import { type Fragment, rawSql, sql, type SqlValue } from "../sql/fragment.ts";

/** Compiles a condition for rows after (or at) a position, NULLs last. Null if all rows match. */
export function compileFromPosition(
  order: readonly OrderKey[],
  values: readonly SqlValue[],
  dialect: Dialect,
  isInclusive: boolean,
): Fragment | null {
  const [first] = order;
  const [value = null] = values;
  if (first === undefined || values.length === 0) return isInclusive ? null : rawSql("1=0");
  const reached = compileFrom({ order, values, dialect, isInclusive }, 0);
  if (values.length === 1 || value === null) return reached;
  // `reached` alone has the same result. The added comparison lets the database use an index.
  return sql`(${compared(first, value, dialect, true)} AND ${reached})`;
}

interface Position {
  readonly order: readonly OrderKey[];
  readonly values: readonly SqlValue[];
  readonly dialect: Dialect;
  readonly isInclusive: boolean;
}

function compileFrom(position: Position, index: number): Fragment {
  const { order, values, dialect, isInclusive } = position;
  const key = order[index];
  if (key === undefined) throw new Error("A position has more values than its order has keys");
  const value = values[index] ?? null;
  const isLast = index === values.length - 1;
  if (isLast && value !== null) return compared(key, value, dialect, isInclusive);
  const operand = dialect.ordered(key.column);
  const rest = isLast ? rawSql(isInclusive ? "1=1" : "1=0") : compileFrom(position, index + 1);
  // NULL sorts last, so after a NULL only other rows with NULL can follow.
  if (value === null) return sql`(${operand} IS NULL AND ${rest})`;
  const equal = sql`${operand} = ${dialect.boundStored(value, key.column)}`;
  return sql`(${compared(key, value, dialect, false)} OR (${equal} AND ${rest}))`;
}

function compared(
  { column, descending, isNullable }: OrderKey,
  value: SqlValue,
  dialect: Dialect,
  isInclusive: boolean,
): Fragment {
  const operand = dialect.ordered(column);
  const sign = rawSql(`${descending ? "<" : ">"}${isInclusive ? "=" : ""}`);
  const orNull = column.notNull && isNullable !== true ? rawSql("") : sql` OR ${operand} IS NULL`;
  return sql`(${operand} ${sign} ${dialect.boundStored(value, column)}${orNull})`;
}

/** Compiles the keys that end an ORDER BY, so that only rows with identical columns are equal. */
export function compileTieBreak(
  { table, order }: Pick<ReadPlan, "table" | "order">,
  dialect: Dialect,
): readonly Fragment[] {
  if (table.keepsOrder && order.length === 0) return [];
  return dialect.distinguished(table.columns, new Set(order.map(({ column }) => column)));
}
