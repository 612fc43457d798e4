import { allRows, type Filter } from "../filter/filter.ts";
import { resolveFilter } from "../filter/resolve.ts";
import { parseFlag, type Query } from "./query.ts";
import type { Resource } from "./resource.ts";

/** A user's filter text → a filter under the field policy; null when it holds none. Throws a 400. */
export function userFilter(text: string | undefined, resource: Resource): Filter | null {
  const syntax = text === undefined ? null : resource.filters.parse(text);
  if (syntax === null) return null;
  return resolveFilter(syntax, {
    table: resource.table,
    operators: resource.operators,
    mayFilter: (column) => resource.fields.filterable.has(column),
  });
}

/** The rows that a list or count speaks of: those marked deleted only with `withDeleted=true`. */
export function shownRows(query: Query, resource: Resource): Filter {
  return parseFlag(query, "withDeleted") ? allRows : resource.live;
}
