import { unreachable } from "../../problem/unreachable.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import type { Comparison, Filter } from "../filter.ts";

/**
 * Returns true if a row passes the filter, in memory. The result is the same as in the database.
 * The result "unknown", which most operators have for NULL, counts as false, so its negation is true.
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
      // A row in memory does not contain its related rows, so the result "false" could be wrong.
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

/** Returns a column's value in a row, even for a column that is called `constructor`. */
export function columnValue(row: Row, { name }: ColumnInfo): unknown {
  return Object.hasOwn(row, name) ? row[name] ?? null : null;
}

/** Returns true if one value of a row matches a comparison of a filter. */
export function valueMatches(comparison: Comparison, value: unknown): boolean {
  const { column, operator, values } = comparison;
  if (value === null && !operator.testsNull) return false;
  return operator.matches(value, values, column);
}
