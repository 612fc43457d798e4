import { boundedMap } from "../../runtime/bounded_map.ts";
import { parseFilter } from "./parse_filter.ts";
import { type FilterSyntax, termsOfSyntax } from "./filter_syntax.ts";

export interface CachingFilterParser {
  parse(text: string): FilterSyntax | null;
}

/** Creates a filter parser that caches the (frozen) syntax trees of the last `capacity` strings. */
export function createCachingFilterParser(capacity = 1_000): CachingFilterParser {
  const remembered = boundedMap<string, FilterSyntax>(capacity, {
    maxBytes: 4 * 1024 * 1024,
    bytesOf: (text) => bytesPerCharacter * text.length,
  });
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

/** Estimated bytes per character: `1,2,3` has a tree node for every second character. */
const bytesPerCharacter = 50;

function deepFreeze(syntax: FilterSyntax): FilterSyntax {
  if (syntax.kind === "compare") {
    if (syntax.path !== undefined) Object.freeze(syntax.path);
    syntax.values.forEach(Object.freeze);
    Object.freeze(syntax.values);
  }
  if ("terms" in syntax) Object.freeze(syntax.terms);
  termsOfSyntax(syntax).forEach(deepFreeze);
  return Object.freeze(syntax);
}
