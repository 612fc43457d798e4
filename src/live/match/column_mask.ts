import { columnValue } from "../../filter/match/row_matches.ts";
import type { Filter } from "../../filter/filter.ts";
import { unreachable } from "../../problem/unreachable.ts";
import type { Row, TableInfo } from "../../schema/table_info.ts";

/**
 * Some columns of a table, a bit for each. Of many columns some share a bit: then two sets may seem
 * to meet that do not, and never the other way round.
 */
export type ColumnMask = number;

/** Every column. */
export const allColumns: ColumnMask = -1;

/** The columns that decide whether a row passes. */
export function columnsReadBy(filter: Filter, table: TableInfo): ColumnMask {
  switch (filter.kind) {
    case "all":
    case "none":
      return 0;
    case "and":
    case "or":
      return filter.terms.reduce((bits, term) => bits | columnsReadBy(term, table), 0);
    case "compare":
      return bitAt(table.columns.indexOf(filter.column));
    case "related":
      return allColumns;
    default:
      return unreachable(filter);
  }
}

/** The columns whose values may differ between two rows. */
export function differingColumns(before: Row, after: Row, { columns }: TableInfo): ColumnMask {
  let bits = 0;
  let index = 0;
  for (const column of columns) {
    if (!Object.is(columnValue(before, column), columnValue(after, column))) bits |= bitAt(index);
    index++;
  }
  return bits;
}

/** Of a column that is not the table's, which no filter should have, nothing is known. */
function bitAt(index: number): ColumnMask {
  return index < 0 ? allColumns : 1 << index % 32;
}
