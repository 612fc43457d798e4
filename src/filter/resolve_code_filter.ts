import { showValue } from "../problem/show_value.ts";
import type { FilterText } from "./builders.ts";
import type { Filter } from "./filter.ts";
import { type FilterContext, resolveFilterWith, unknownField } from "./resolve_filter.ts";
import { createPlaceholderResolver } from "./resolve_scope_filter.ts";
import type { CachingFilterParser } from "./syntax/caching_filter_parser.ts";
import { parseTemplate } from "./template_syntax.ts";

/**
 * Resolves a filter that code has built for a user, who may filter by the same fields as in a
 * string filter. Returns null for an empty template. Throws the same 400 as for a string filter for
 * a field that the user may not filter by, and a plain Error for a column of another table and for
 * a value that is not a filter.
 */
export function resolveCodeFilter(
  given: Filter | FilterText,
  context: FilterContext,
  filters: CachingFilterParser,
): Filter | null {
  if (given.kind !== "text") {
    requireAllowed(given, context);
    return given;
  }
  const syntax = parseTemplate(given, filters);
  if (syntax === null) return null;
  return resolveFilterWith(syntax, context, createPlaceholderResolver(given.values));
}

function requireAllowed(filter: Filter, context: FilterContext): void {
  const { table } = context;
  switch (filter.kind) {
    case "all":
    case "none":
      return;
    case "and":
    case "or":
      for (const term of filter.terms) requireAllowed(term, context);
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
