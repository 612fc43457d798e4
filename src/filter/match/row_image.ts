import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import type { SqlValue } from "../../sql/fragment.ts";
import { columnValue } from "./row_matches.ts";

/** A row before or after a change, on which filters are evaluated. */
export interface RowImage {
  /**
   * The values as the process represents them, including hidden columns. {@link keepStoredForms}
   * attaches the stored values that the row does not represent exactly.
   */
  readonly row: Row;
}

type StoredForms = ReadonlyMap<ColumnInfo, SqlValue>;

/** The key of the stored forms. It is not enumerable: a copy of a row may have other values. */
const storedForms = Symbol("stored forms");

/**
 * Attaches the stored values that a decoded row does not represent exactly: a JSON document that is
 * `null`, a timestamp in another format than the column's, bytes in a text column. Filters must be
 * evaluated with the stored values.
 */
export function keepStoredForms(
  row: Row,
  stored: readonly SqlValue[],
  columns: readonly ColumnInfo[],
  dialect: Dialect,
): void {
  let forms: Map<ColumnInfo, SqlValue> | undefined;
  let index = 0;
  for (const column of columns) {
    const value = stored[index++] ?? null;
    if (value === null || dialect.roundTrips(value, columnValue(row, column), column)) continue;
    forms ??= new Map();
    forms.set(column, value);
  }
  if (forms !== undefined) Object.defineProperty(row, storedForms, { value: forms });
}

/** Returns the stored value of a column that a row does not represent exactly, or undefined. */
export function storedForm(row: Row, column: ColumnInfo): SqlValue | undefined {
  const holder: { readonly [storedForms]?: StoredForms } = row;
  return holder[storedForms]?.get(column);
}
