import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import type { SqlValue } from "../../sql/fragment.ts";
import { columnValue } from "./row_matches.ts";

/** A row image for filters: a row as it was before or after a change. */
export interface RowImage {
  /**
   * The values in process, hidden columns included. A row of {@link keepStoredForms} knows the stored
   * values that it does not represent exactly.
   */
  readonly row: Row;
}

type StoredForms = ReadonlyMap<ColumnInfo, SqlValue>;

/** Not enumerable: no copy of a row, which may have other values, has it. */
const storedForms = Symbol("stored forms");

/**
 * Lets a row, which was decoded from these stored values, know those that it does not represent
 * exactly: a JSON document that is `null`, a moment in another format than the column's, bytes in a
 * text column. A filter must be evaluated with these.
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

/** The stored value of a column that a row does not represent exactly; undefined for all others. */
export function storedForm(row: Row, column: ColumnInfo): SqlValue | undefined {
  const holder: { readonly [storedForms]?: StoredForms } = row;
  return holder[storedForms]?.get(column);
}
