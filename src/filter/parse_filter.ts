import { parse } from "./parser.ts";
import type { FilterSyntax } from "./syntax.ts";

/** Reads filters, and remembers what it has read lately. */
export interface FilterParser {
  /** What a text says, or null when there is no filter in it; throws `filter-parse-error`. */
  parse(text: string): FilterSyntax | null;
}

/**
 * A parser that remembers the last `capacity` texts. Its trees are shared, therefore frozen.
 * Faults are not remembered: they are rare, and cheap to find again.
 */
export function createFilterParser(capacity = 500): FilterParser {
  // A Map keeps the order of insertion: the first key is the one not asked for the longest.
  const remembered = new Map<string, FilterSyntax>();
  return {
    parse(text) {
      const known = remembered.get(text);
      if (known !== undefined) {
        remembered.delete(text);
        remembered.set(text, known);
        return known;
      }
      const syntax = parse(text);
      if (syntax === null) return null;
      remembered.set(text, deepFreeze(syntax));
      for (const oldest of remembered.keys()) {
        if (remembered.size <= capacity) break;
        remembered.delete(oldest);
      }
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
