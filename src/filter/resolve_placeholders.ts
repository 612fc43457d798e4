import { failClosedComparison } from "./operators/fail_closed_comparison.ts";
import { fitsDocumentPaths } from "./operators/path_comparison.ts";
import type { Operator } from "./operators/operator.ts";
import type { Filter } from "./filter.ts";
import {
  type ComparedField,
  isNullWord,
  operatorMismatch,
  requireValueCount,
  resolveComparison,
} from "./resolve_comparison.ts";
import type { ResolveComparison } from "./resolve_filter.ts";
import type { ComparisonSyntax } from "./syntax/filter_syntax.ts";
import { templateValueIndex } from "./template_syntax.ts";

/** Creates the function that resolves comparisons of a template. `values` replace placeholders. */
export function createPlaceholderResolver(values: readonly unknown[]): ResolveComparison {
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
