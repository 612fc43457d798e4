import { unreachable } from "../../problem/unreachable.ts";
import type { Comparison, Filter, Related } from "../filter.ts";
import { placeholder } from "../filter_text.ts";
import type { ComparisonSyntax, FilterSyntax } from "./filter_syntax.ts";
import { quotePath } from "./quoted_name.ts";

/**
 * Returns a resolved filter as a string that parses to the same filter. The filter `all` becomes
 * the empty string. The filter `none` becomes the word `none`, which does not parse, so that it
 * cannot be mistaken for another filter.
 */
export function printFilter(filter: Filter): string {
  switch (filter.kind) {
    case "all":
      return "";
    case "none":
      return "none";
    case "and":
    case "or":
      return printTerms(filter, printFilter);
    case "related":
      return printRelated(filter);
    case "not":
      return `not(${printFilter(filter.term)})`;
    case "compare":
      return printComparison(filter);
    default:
      return unreachable(filter);
  }
}

/** Returns a syntax tree as a string that parses to the same tree with other positions. */
export function printSyntax(syntax: FilterSyntax): string {
  switch (syntax.kind) {
    case "and":
    case "or":
      return printTerms(syntax, printSyntax);
    case "some":
    case "none":
    case "every":
      return `${quotePath(syntax.path)}.${syntax.kind}(${printSyntax(syntax.term)})`;
    case "not":
      return `not(${printSyntax(syntax.term)})`;
    case "inserted":
      return `${placeholder}${syntax.index}${placeholder}`;
    case "compare":
      return printComparisonSyntax(syntax);
  }
}

/**
 * Returns nested relations as one path, because parentheses count towards a filter's depth. A
 * relation without a condition becomes a condition that every related row matches.
 */
function printRelated(related: Related): string {
  const path = [related.relation.name];
  let inner = related.filter;
  for (; inner.kind === "related"; inner = inner.filter) path.push(inner.relation.name);
  return `${quotePath(path)}.some(${printFilter(inner)})`;
}

function printComparisonSyntax(syntax: ComparisonSyntax): string {
  const values = syntax.values.map(({ text, quoted }) => quoted ? quote(text) : text);
  const list = syntax.list ? `(${values.join(",")})` : values.join();
  return `${syntax.field}${syntax.operator}${list}`;
}

interface Group<Term> {
  readonly kind: "and" | "or";
  readonly terms: readonly Term[];
}

/** Returns terms with parentheses where needed: not for an `and` inside an `or`. */
function printTerms<Term extends { readonly kind: string }>(
  group: Group<Term>,
  print: (term: Term) => string,
): string {
  const texts = group.terms.map((term) => {
    const isGroup = term.kind === "or" || (term.kind === "and" && group.kind === "and");
    return isGroup ? `(${print(term)})` : print(term);
  });
  return texts.join(group.kind === "and" ? ";" : ",");
}

function printComparison({ column, path = [], operator, values }: Comparison): string {
  const { symbols: [symbol], takes } = operator;
  const texts = values.map((value) =>
    typeof value === "string"
      ? quote(value)
      : typeof value === "object" && value !== null && "number" in value
      ? String(value.number)
      : String(value)
  );
  const isList = ["list", "pair", "items", "texts"].includes(takes);
  return `${quotePath([column.name, ...path])}${symbol}${
    isList ? `(${texts.join(",")})` : texts.join()
  }`;
}

function quote(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}
