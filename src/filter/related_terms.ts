import type { Filter, Related } from "./filter.ts";

/** Returns the outermost terms of a filter that follow a relation. */
export function relatedTerms(filter: Filter): readonly Related[] {
  if (filter.kind === "and" || filter.kind === "or") return filter.terms.flatMap(relatedTerms);
  return filter.kind === "related" ? [filter] : [];
}
