import { unreachable } from "../../problem/unreachable.ts";
import type { Comparison, Filter, Related } from "../filter.ts";
import { quotePath } from "./quoted_name.ts";

/** Prints a filter in filter syntax: `all` as the empty string, `none` as an invalid filter. */
export function printFilter(filter: Filter): string {
  switch (filter.kind) {
    case "all":
      return "";
    case "none":
      return "none";
    case "and":
    case "or":
      return printTerms(filter);
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

/** Prints nested relations as one path, because parentheses count towards a filter's depth. */
function printRelated(related: Related): string {
  const path = [related.relation.name];
  let inner = related.filter;
  for (; inner.kind === "related"; inner = inner.filter) path.push(inner.relation.name);
  return `${quotePath(path)}.some(${printFilter(inner)})`;
}

function printTerms({ kind, terms }: Extract<Filter, { readonly terms: unknown }>): string {
  const texts = terms.map((term) => {
    const isGroup = term.kind === "or" || (term.kind === "and" && kind === "and");
    return isGroup ? `(${printFilter(term)})` : printFilter(term);
  });
  return texts.join(kind === "and" ? ";" : ",");
}

function printComparison({ column, path = [], operator, values }: Comparison): string {
  const { symbols: [symbol], takes } = operator;
  const texts = values.map((value) =>
    typeof value === "string"
      ? `"${value.replace(/["\\]/g, "\\$&")}"`
      : typeof value === "object" && value !== null && "number" in value
      ? String(value.number)
      : String(value)
  );
  const isList = ["list", "pair", "items", "texts", "query"].includes(takes);
  return `${quotePath([column.name, ...path])}${symbol}${
    isList ? `(${texts.join(",")})` : texts.join()
  }`;
}
