import { unreachable } from "../../problem/unreachable.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import type { Comparison, Filter } from "../filter.ts";

/**
 * Evaluates a filter on a row in memory, with the same result as in the database. An unknown
 * result, which most operators have for NULL, counts as false, so its negation is true.
 */
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

export function valueMatches(comparison: Comparison, value: unknown): boolean {
  const { column, operator, values } = comparison;
  if (value === null && !operator.testsNull) return false;
  return operator.matches(value, values, column);
}
