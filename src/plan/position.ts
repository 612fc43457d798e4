import type { ColumnInfo } from "../schema/table_info.ts";
import type { SqlValue } from "../sql/fragment.ts";
import type { OrderKey } from "./plan.ts";

/** Where a row stands in an order, from what is stored in its columns: rows behind it come next. */
export function keysetPosition(
  stored: readonly SqlValue[],
  columns: readonly ColumnInfo[],
  order: readonly OrderKey[],
): readonly SqlValue[] {
  return order.map(({ column }) => stored[columns.indexOf(column)] ?? null);
}
