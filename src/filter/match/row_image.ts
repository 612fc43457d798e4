import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import type { SqlValue } from "../../sql/fragment.ts";
import { columnValue } from "./row_matches.ts";

/** A row before or after a change, on which filters are evaluated. */
export interface RowImage {
  /**
   * The in-process values, including hidden columns. {@link attachStoredForms} attaches the stored
   * values of which the row has no exact representation.
   */
  readonly row: Row;
}

type StoredForms = ReadonlyMap<ColumnInfo, SqlValue>;

/** The property of the stored forms. It is not enumerable: a copied row can have other values. */
const storedForms = Symbol("stored forms");

/**
 * Attaches the stored values that a decoded row cannot represent exactly: the JSON document `null`,
 * a timestamp in another format than the column's, bytes in a string column. Filters must be
 * evaluated on the stored values.
 */
export function attachStoredForms(
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

/** Returns the stored value of a column if the row cannot represent it exactly, or undefined. */
export function storedForm(row: Row, column: ColumnInfo): SqlValue | undefined {
  const holder: { readonly [storedForms]?: StoredForms } = row;
  return holder[storedForms]?.get(column);
}
