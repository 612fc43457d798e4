import { boundedMap } from "../../runtime/bounded_map.ts";
import { parseFilter } from "./parse_filter.ts";
import type { FilterSyntax } from "./filter_syntax.ts";

/** Reads filters, and remembers what it has read lately. */
export interface CachingFilterParser {
  /** What a text says, or null when there is no filter in it; throws `filter-parse-error`. */
  parse(text: string): FilterSyntax | null;
}

/**
 * A parser that remembers the last texts, at most `capacity`. Its trees are shared, therefore
 * frozen. Faults are not remembered: they are rare, and cheap to find again.
 */
export function createCachingFilterParser(capacity = 500): CachingFilterParser {
  const remembered = boundedMap<string, FilterSyntax>(capacity);
  return {
    parse(text) {
      const known = remembered.get(text);
      if (known !== undefined) return known;
      const syntax = parseFilter(text);
      if (syntax !== null) remembered.set(text, deepFreeze(syntax));
      return syntax;
    },
  };
}

function deepFreeze(syntax: FilterSyntax): FilterSyntax {
  if (syntax.kind === "compare") {
    syntax.values.forEach(Object.freeze);
    Object.freeze(syntax.values);
  } else {
    syntax.terms.forEach(deepFreeze);
    Object.freeze(syntax.terms);
  }
  return Object.freeze(syntax);
}
