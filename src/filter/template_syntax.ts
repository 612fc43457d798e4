import { Problem } from "../problem/problem.ts";
import { type FilterText, placeholder } from "./filter_text.ts";
import type { CachingFilterParser } from "./syntax/caching_filter_parser.ts";
import { excerptOf, filterError } from "./syntax/filter_error.ts";
import { isRule } from "./rule.ts";
import { RuleFault } from "./rule_fault.ts";
import {
  type FilterSyntax,
  type InsertedSyntax,
  type Literal,
  termsOfSyntax,
} from "./syntax/filter_syntax.ts";

/** Matches the marker of a value in a template's string, even if an excerpt cuts the marker off. */
const marker = new RegExp(`${placeholder}\\d*${placeholder}?`, "g");
const onlyMarker = new RegExp(`^${placeholder}\\d+${placeholder}$`);

/**
 * Parses a filter that `rsql` has built. Returns null for a blank filter. Each marker must be a
 * complete value or a complete term. A rule must be a term, and any other value must be a value.
 * For a marker in another place, such as in a quoted name, the function throws a plain Error,
 * because the user's value would change the filter. A parse error's message shows `${…}` for each
 * value.
 */
export function parseTemplate(
  { text, values }: FilterText,
  filters: CachingFilterParser,
): FilterSyntax | null {
  const syntax = parseReadably(text, filters);
  if (syntax === null) return null;
  const literals = literalsOf(syntax);
  const inserted = insertedIn(syntax);
  const wrong = literals.find((one) => isRule(values[templateValueIndex(one) ?? -1]));
  if (wrong !== undefined) throw misplaced(templateValueIndex(wrong) ?? 0, "a filter", "a value");
  const bare = inserted.find(({ index }) => !isRule(values[index]));
  if (bare !== undefined) throw misplaced(bare.index, "a value", "a filter");
  const places = new Set([...literals.filter(isValue), ...inserted].map(({ at }) => at));
  // If there are as many complete markers as values, every value is a complete value or term.
  if (places.size === values.length) return syntax;
  for (const [index, { 0: mark, index: at }] of [...text.matchAll(marker)].entries()) {
    if (places.has(at)) continue;
    const literal = literals.find((one) => one.text.includes(mark));
    const shown = literal?.text ?? text.slice(Math.max(0, at - 10));
    throw new RuleFault(
      `Cannot build the filter: value ${index + 1} stands ${whereIn(literal)}: ${
        excerptOf(readable(shown))
      }`,
    );
  }
  return syntax;
}

/** Returns the index of the template's value that a parsed literal represents, or null. */
export function templateValueIndex(literal: Literal): number | null {
  return isValue(literal) ? Number(literal.text.slice(1, -1)) : null;
}

function isValue({ text, quoted }: Literal): boolean {
  return !quoted && text.startsWith(placeholder) && onlyMarker.test(text);
}

function whereIn(literal: Literal | undefined): string {
  if (literal === undefined) return "where the filter has a name, not a value";
  return literal.quoted ? "inside quotes" : "in part of a word";
}

function literalsOf(syntax: FilterSyntax): readonly Literal[] {
  return syntax.kind === "compare" ? syntax.values : termsOfSyntax(syntax).flatMap(literalsOf);
}

function insertedIn(syntax: FilterSyntax): readonly InsertedSyntax[] {
  return syntax.kind === "inserted" ? [syntax] : termsOfSyntax(syntax).flatMap(insertedIn);
}

function misplaced(index: number, found: string, wanted: string): Error {
  return new RuleFault(
    `Cannot build the filter: value ${index + 1} is ${found} in the place of ${wanted}`,
  );
}

function parseReadably(text: string, filters: CachingFilterParser): FilterSyntax | null {
  try {
    return filters.parse(text);
  } catch (error) {
    if (!(error instanceof Problem) || !text.includes(placeholder)) throw error;
    const { position, expected } = error.details ?? {};
    throw filterError(Number(position), String(expected), readable(error.message));
  }
}

function readable(text: string): string {
  return text.replace(marker, "${…}");
}
