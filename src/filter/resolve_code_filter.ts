import { type Filter, withoutMissing } from "./filter.ts";
import type { FilterContext } from "./resolve_filter.ts";
import { filterOfRule, filterOfTemplate } from "./filter_of_rule.ts";
import { requireFilter } from "./resolve_scope_filter.ts";
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
  requireFilter(filter, context.table, context);
  return withoutMissing(filter);
}
