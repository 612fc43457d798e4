import type { ColumnInfo, Row } from "../schema/table_info.ts";

/**
 * The only door for rows: list, get and writes all answer through it, so that masking cannot be
 * forgotten. Of rows that were read with the columns `read`, it shows exactly those of `visible`,
 * which `parseSelect` took from the readable ones.
 */
export function presentRows(
  rows: readonly Row[],
  read: readonly ColumnInfo[],
  visible: readonly ColumnInfo[],
): readonly Row[] {
  // Most lists show what they read: then there is nothing to take away.
  return isSame(read, visible) ? rows : rows.map((row) => pick(row, visible));
}

/** The same for one row. */
export function presentRow(
  row: Row,
  read: readonly ColumnInfo[],
  visible: readonly ColumnInfo[],
): Row {
  return isSame(read, visible) ? row : pick(row, visible);
}

function isSame(read: readonly ColumnInfo[], visible: readonly ColumnInfo[]): boolean {
  return read === visible ||
    (read.length === visible.length && read.every((column, index) => column === visible[index]));
}

function pick(row: Row, visible: readonly ColumnInfo[]): Row {
  const shown: Record<string, unknown> = {};
  for (const column of visible) shown[column.name] = row[column.name];
  return shown;
}
