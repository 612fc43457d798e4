import { unreachable } from "../problem/unreachable.ts";
import { canonicalValueText, writeJson } from "../schema/exact_json.ts";
import { and, type Comparison, type Filter, or } from "./filter.ts";
import type { Operator } from "./operators/operator.ts";
import {
  equalOperator,
  inOperator,
  isEmptyOperator,
  isNullOperator,
  notEqualOperator,
  outOperator,
} from "./operators/operator_registry.ts";

/** Returns a string by which filters are compared: order, repetitions and aliases do not matter. */
export function canonicalFilterText(filter: Filter): string {
  switch (filter.kind) {
    case "all":
    case "none":
      return filter.kind;
    case "and":
    case "or":
      return groupKey(filter.kind, filter.terms);
    case "related": {
      const [links, rows] = [canonicalFilterText(filter.links), canonicalFilterText(filter.filter)];
      return `${JSON.stringify(filter.relation.name)}.(${links})(${rows})`;
    }
    case "not":
      return `not(${canonicalFilterText(filter.term)})`;
    case "compare":
      return comparisonKey(filter);
    default:
      return unreachable(filter);
  }
}

/** Returns the string of a group. Delimiters between its terms make the string unambiguous. */
function groupKey(kind: "and" | "or", terms: readonly Filter[]): string {
  // A group not built by `and` or `or` can contain a group of the same kind, or one term.
  const flat = kind === "and" ? and(...terms) : or(...terms);
  if (flat.kind !== kind) return canonicalFilterText(flat);
  const keys = sortedOnce(flat.terms.map(canonicalFilterText));
  if (keys.length === 1) return keys.join();
  return `(${keys.join(kind === "and" ? ";" : ",")})`;
}

function comparisonKey({ column, path, operator, values }: Comparison): string {
  const texts = values.map((value) =>
    operand(value, operator) ??
      (path === undefined ? canonicalValueText(value, column) : JSON.stringify(value))
  );
  // Only custom operators depend on the order of a list.
  const isSet = operator.takes === "list" || operator.takes === "items";
  const operands = isSet ? sortedOnce(texts) : texts;
  const [symbol] =
    equivalent(operator, operands.length, path !== undefined || column.kind === "text").symbols;
  return JSON.stringify([
    path === undefined ? column.name : [column.name, ...path],
    symbol,
    ...operands,
  ]);
}

function operand(value: unknown, { takes }: Operator): string | null {
  if (takes === "item" || takes === "items") return writeJson(value);
  return takes === "value" || takes === "list" || takes === "pair" ? null : String(value);
}

function equivalent(operator: Operator, count: number, isText: boolean): Operator {
  if (operator === inOperator && count === 1) return equalOperator;
  if (operator === outOperator && count === 1) return notEqualOperator;
  return operator === isEmptyOperator && !isText ? isNullOperator : operator;
}

function sortedOnce(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort();
}
