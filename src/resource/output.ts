import type { ColumnInfo, Row } from "../schema/table_info.ts";

/**
 * The only door for rows: list, get and writes all answer through it, so that masking cannot be
 * forgotten. A row keeps exactly the columns of `visible`, which {@link parseSelect} took from the
 * readable ones.
 */
export function presentRow(row: Row, visible: readonly ColumnInfo[]): Row {
  const shown: Record<string, unknown> = {};
  for (const column of visible) shown[column.name] = row[column.name];
  return shown;
}
