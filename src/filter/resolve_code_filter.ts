import { showValue } from "../problem/show_value.ts";
import { type Filter, termsOnSameRow, withoutMissing } from "./filter.ts";
import { type FilterContext, unknownField } from "./resolve_filter.ts";
import { filterOfRule, filterOfTemplate } from "./filter_of_rule.ts";
import type { Rule } from "./rule.ts";
import type { CachingFilterParser } from "./syntax/caching_filter_parser.ts";

/**
 * Resolves a filter that code has built for a user. The user must have the right to filter by its
 * fields, as in a filter string. Returns null for an empty template. Throws the same 400 as for a
 * filter string if the user lacks the right, and a plain Error for a column of another table and
 * for a value that is not a filter.
 */
export function resolveCodeFilter(
  given: Rule,
  context: FilterContext,
  filters: CachingFilterParser,
): Filter | null {
  const resolve = (rule: Rule, there: FilterContext) => filterOfRule(rule, there, filters);
  const filter = given.kind === "text"
    ? filterOfTemplate(given, context, filters, { resolve })
    : resolve(given, context);
  if (filter === null) return null;
  requireAllowed(filter, context);
  return withoutMissing(filter);
}

function requireAllowed(filter: Filter, context: FilterContext): void {
  const { table } = context;
  switch (filter.kind) {
    case "all":
    case "none":
      return;
    case "and":
    case "or":
    case "not":
      for (const term of termsOnSameRow(filter)) requireAllowed(term, context);
      return;
    case "compare": {
      const { column } = filter;
      if (!table.columns.includes(column)) throw ofAnotherTable(column.name, context);
      if (!context.mayFilter(column)) throw unknownField([column.name], 0, context);
      return;
    }
    case "related": {
      const { relation } = filter;
      if (relation.owner !== table) throw ofAnotherTable(relation.name, context);
      const next = context.follow?.(relation.name) ?? null;
      if (next === null) throw unknownField([relation.name], 0, context);
      return requireAllowed(filter.filter, next.target);
    }
    default: {
      const never: never = filter;
      throw new Error(`Cannot filter "${table.label}" by ${showValue(never)}: it is no filter`);
    }
  }
}

function ofAnotherTable(name: string, { table }: FilterContext): Error {
  return new Error(`Cannot filter "${table.label}": "${name}" is of another table`);
}
