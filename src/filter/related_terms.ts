import { directTerms, type Filter, type Related } from "./filter.ts";

/** Returns the outermost terms of a filter that follow a relation. */
export function relatedTerms(filter: Filter): readonly Related[] {
  return filter.kind === "related" ? [filter] : directTerms(filter).flatMap(relatedTerms);
}
