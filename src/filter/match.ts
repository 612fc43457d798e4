import { unreachable } from "../problem/unreachable.ts";
import type { Row } from "../schema/table_info.ts";
import type { Comparison, Filter } from "./filter.ts";

/**
 * Whether a row passes, in memory, as the database would decide it. Unknown, which is what most
 * operators make of NULL, is no: the language has no negation that could turn it round.
 */
export function matches(filter: Filter, row: Row): boolean {
  switch (filter.kind) {
    case "all":
      return true;
    case "none":
      return false;
    case "and":
      return filter.terms.every((term) => matches(term, row));
    case "or":
      return filter.terms.some((term) => matches(term, row));
    case "related":
      // A row in memory does not know its relations; nobody may take that for "no".
      throw new Error(`Cannot decide a relation in memory: ${filter.relation.name}`);
    case "compare":
      return comparisonMatches(filter, row);
    default:
      return unreachable(filter);
  }
}

function comparisonMatches({ column, operator, values }: Comparison, row: Row): boolean {
  // A column may be called `constructor`, which every plain object seems to have.
  const value = Object.hasOwn(row, column.name) ? row[column.name] ?? null : null;
  if (value === null && !operator.testsNull) return false;
  return operator.matches(value, values, column);
}
