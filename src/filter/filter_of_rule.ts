import { type FilterText, placeholder } from "./filter_text.ts";
import { type Filter, missingRows } from "./filter.ts";
import { type FilterContext, type ResolveComparison, resolveFilterWith } from "./resolve_filter.ts";
import { isResolved, isRule, type ResolvableDraft, type Rule } from "./rule.ts";
import type { CachingFilterParser } from "./syntax/caching_filter_parser.ts";
import {
  type ComparisonSyntax,
  type FilterSyntax,
  type InsertedSyntax,
  type Literal,
  termsOfSyntax,
} from "./syntax/filter_syntax.ts";
import { failClosedComparison, fitsDocumentPaths } from "./operators/path_comparison.ts";
import type { Operator } from "./operators/operator.ts";
import {
  type ComparedField,
  isNullWord,
  operatorMismatch,
  requireValueCount,
  resolveComparison,
} from "./resolve_comparison.ts";
import { Problem } from "../problem/problem.ts";
import { excerptOf, filterError } from "./syntax/filter_error.ts";
import { RuleFault } from "./rule_fault.ts";

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

/** Called with the syntax tree of each template in a rule, its context and its string. */
export type OnTemplate = (syntax: FilterSyntax, context: FilterContext, text: string) => void;

/** Resolves a rule of code to a filter. A blank template matches no row. Any column is allowed. */
export function filterOfRule(
  rule: Rule,
  context: FilterContext,
  filters: CachingFilterParser,
  onTemplate: OnTemplate = () => {},
): Filter {
  const resolve = (inner: Rule, there: FilterContext) =>
    filterOfRule(inner, there, filters, onTemplate);
  if (isResolved(rule)) return rule;
  // The cast is safe: only the function `draft` creates drafts.
  if (rule.kind === "draft") return (rule as ResolvableDraft).toFilter(context, resolve);
  return filterOfTemplate(rule, context, filters, { resolve, onTemplate }) ?? missingRows;
}

/** Resolves a template. Returns null for a blank template. */
export function filterOfTemplate(
  template: FilterText,
  context: FilterContext,
  filters: CachingFilterParser,
  { resolve, onTemplate }: {
    readonly resolve: (rule: Rule, context: FilterContext) => Filter;
    readonly onTemplate?: OnTemplate;
  },
): Filter | null {
  const { values } = template;
  const syntax = parseTemplate(template, filters);
  if (syntax === null) return null;
  onTemplate?.(syntax, context, template.text);
  return resolveFilterWith(syntax, context, createPlaceholderResolver(values), (index, there) => {
    // The cast is safe: `parseTemplate` has checked that values in place of terms are rules.
    return resolve(values[index] as Rule, there);
  });
}

/** Creates the function that resolves comparisons of a template. `values` replace placeholders. */
function createPlaceholderResolver(values: readonly unknown[]): ResolveComparison {
  return (syntax, field, operator) =>
    syntax.values.some((literal) => templateValueIndex(literal) !== null)
      ? resolvePlaceholders(syntax, field, operator, values)
      : resolveComparison(syntax, field, operator);
}

function resolvePlaceholders(
  syntax: ComparisonSyntax,
  { column, path }: ComparedField,
  operator: Operator,
  given: readonly unknown[],
): Filter {
  const { takes } = operator;
  const takesMany = ["list", "pair", "items", "texts", "query"].includes(takes);
  const values = syntax.values.flatMap((literal) => {
    const index = templateValueIndex(literal);
    const value = index !== null ? given[index] : isNullWord(literal) ? null : literal.text;
    return takesMany && Array.isArray(value) ? value : [value];
  });
  if (!takesMany) requireValueCount(syntax, operator);
  if (path === null ? !operator.accepts(column) : !fitsDocumentPaths(operator)) {
    throw operatorMismatch(syntax, operator, column);
  }
  return failClosedComparison(operator, column, values, path);
}
