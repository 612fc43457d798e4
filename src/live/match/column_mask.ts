import { columnValue, storedForm } from "../../filter/match/row_matches.ts";
import { type Filter, termsOnSameRow } from "../../filter/filter.ts";
import { unreachable } from "../../problem/unreachable.ts";
import type { ColumnInfo, Row, TableInfo } from "../../schema/table_info.ts";

/**
 * A bit mask of table columns, one bit for each column. In a table with more than 32 columns, some
 * columns share a bit. Two disjoint sets may then seem to overlap, but never the reverse.
 */
export type ColumnMask = number;

export const allColumns: ColumnMask = -1;

/** Returns the mask of the columns that determine whether a row matches a filter. */
export function columnsReadBy(filter: Filter, table: TableInfo): ColumnMask {
  switch (filter.kind) {
    case "all":
    case "none":
      return 0;
    case "and":
    case "or":
    case "not":
      return termsOnSameRow(filter).reduce((bits, term) => bits | columnsReadBy(term, table), 0);
    case "compare":
      return bitAt(table.columns.indexOf(filter.column));
    case "related":
      return allColumns;
    default:
      return unreachable(filter);
  }
}

/** Returns the mask of the columns whose values differ, or could differ, between two rows. */
export function differingColumns(before: Row, after: Row, { columns }: TableInfo): ColumnMask {
  let bits = 0;
  let index = 0;
  for (const column of columns) {
    if (!isSameStored(before, after, column)) bits |= bitAt(index);
    index++;
  }
  return bits;
}

export function isSameStored(before: Row, after: Row, column: ColumnInfo): boolean {
  return Object.is(columnValue(before, column), columnValue(after, column)) &&
    storedForm(before, column) === undefined && storedForm(after, column) === undefined;
}

/** Returns a column's bit. An unknown column (of another table) counts as all columns. */
function bitAt(index: number): ColumnMask {
  return index < 0 ? allColumns : 1 << index % 32;
}
