import { unreachable } from "../../problem/unreachable.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import type { Comparison, Filter } from "../filter.ts";
import type { Dialect } from "../../sql/dialect.ts";
import type { SqlValue } from "../../sql/fragment.ts";

/** Evaluates a filter on a row in memory. As in the database, an unknown result counts as false. */
export function rowMatches(filter: Filter, row: Row): boolean {
  switch (filter.kind) {
    case "all":
      return true;
    case "none":
      return false;
    case "and":
      return filter.terms.every((term) => rowMatches(term, row));
    case "or":
      return filter.terms.some((term) => rowMatches(term, row));
    case "not":
      return !rowMatches(filter.term, row);
    case "related":
      // The related rows are in the database, so every result here could be wrong.
      throw new Error(`Cannot decide a relation in memory: ${filter.relation.name}`);
    case "compare":
      if (filter.path !== undefined) {
        throw new Error(`Cannot look into a document in memory: ${filter.column.name}`);
      }
      return valueMatches(filter, columnValue(row, filter.column));
    default:
      return unreachable(filter);
  }
}

/** Returns a column's value in a row, even if the column is called `constructor`. */
export function columnValue(row: Row, { name }: ColumnInfo): unknown {
  return Object.hasOwn(row, name) ? row[name] ?? null : null;
}

function valueMatches(comparison: Comparison, value: unknown): boolean {
  const { column, operator, values } = comparison;
  if (value === null && !operator.testsNull) return false;
  return operator.matches(value, values, column);
}

export interface RowImage {
  readonly row: Row;
}

/** The key under which a row keeps its stored values. Copies omit them: a copy can be changed. */
const storedForms = Symbol("stored forms");

/** Attaches the stored values that a decoded row loses, such as the JSON document `null`. */
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

export function storedForm(row: Row, column: ColumnInfo): SqlValue | undefined {
  const holder: { readonly [storedForms]?: ReadonlyMap<ColumnInfo, SqlValue> } = row;
  return holder[storedForms]?.get(column);
}
