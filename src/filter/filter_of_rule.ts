import type { FilterText } from "./filter_text.ts";
import { type Filter, missingRows } from "./filter.ts";
import { type FilterContext, type ResolveComparison, resolveFilterWith } from "./resolve_filter.ts";
import { isResolved, type ResolvableDraft, type Rule } from "./rule.ts";
import type { CachingFilterParser } from "./syntax/caching_filter_parser.ts";
import type { ComparisonSyntax, FilterSyntax } from "./syntax/filter_syntax.ts";
import { parseTemplate, templateValueIndex } from "./template_syntax.ts";
import { failClosedComparison } from "./operators/fail_closed_comparison.ts";
import { fitsDocumentPaths } from "./operators/path_comparison.ts";
import type { Operator } from "./operators/operator.ts";
import {
  type ComparedField,
  isNullWord,
  operatorMismatch,
  requireValueCount,
  resolveComparison,
} from "./resolve_comparison.ts";

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
  const takesMany = ["list", "pair", "items", "texts"].includes(takes);
  const values = syntax.values.flatMap((literal) => {
    const index = templateValueIndex(literal);
    const value = index !== null ? given[index] : isNullWord(literal) ? null : literal.text;
    return takesMany && Array.isArray(value) ? value : [value];
  });
  if (!takesMany) requireValueCount(syntax, operator);
  if (path === null ? !operator.accepts(column) : !fitsDocumentPaths(operator)) {
    throw operatorMismatch(syntax, column);
  }
  return failClosedComparison(operator, column, values, path);
}
