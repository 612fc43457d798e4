import { type ColumnKind, unrestrictedRules } from "../../schema/kind.ts";
import { kinds } from "../../schema/kind_of.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import { allRows, comparison, type Filter, noRows, type Related } from "../filter.ts";
import { createOperatorRegistry } from "../operators/operator_registry.ts";
import type { CertifiedComparisons } from "./certified_comparisons.ts";
import { createInMemoryMatcher } from "./in_memory_matcher.ts";

/** A filter as JSON, which a client can evaluate. Only the service can decide `unknown` terms. */
export type DescribedFilter =
  | { readonly kind: "all" | "none" | "unknown" }
  | { readonly kind: "and" | "or"; readonly terms: readonly DescribedFilter[] }
  | { readonly kind: "not"; readonly term: DescribedFilter }
  | {
    readonly kind: "compare";
    readonly field: string;
    readonly type: ColumnKind;
    readonly operator: string;
    readonly values: readonly unknown[];
  };

/** Describes a filter. A comparison becomes `unknown` if its result in memory can be different. */
export function describeFilter(
  filter: Filter,
  isCertain: CertifiedComparisons["isCertain"],
): DescribedFilter {
  const described = (term: Filter) => describeFilter(term, isCertain);
  switch (filter.kind) {
    case "and":
    case "or":
      return { kind: filter.kind, terms: filter.terms.map(described) };
    case "not":
      return { kind: "not", term: described(filter.term) };
    case "related":
      return { kind: "unknown" };
    case "compare": {
      const { column, operator: { symbols: [operator], takes }, values } = filter;
      const { name: field, kind: type, generated, writeTimestamp, onUpdate } = column;
      const isComputed = generated || writeTimestamp !== null || onUpdate !== undefined;
      // JSON has no bigints. Clients have no custom operators, and treat a JSON `null` like NULL.
      const isSent = takes !== "texts" && type !== "json" &&
        values.every((value) => typeof value !== "bigint");
      return !isComputed && isSent && isCertain(filter)
        ? { kind: "compare", field, type, operator, values }
        : { kind: "unknown" };
    }
    default:
      return { kind: filter.kind };
  }
}

/** Evaluates a described filter on a row in request form. Null if only the service can decide. */
export function matchesDescribed(
  filter: DescribedFilter,
  row: Readonly<Record<string, unknown>>,
): boolean | null {
  const stored = new Map<string, unknown>();
  const matches = createInMemoryMatcher(revived(filter), {
    isCertain: ({ column: { name, kind } }) => {
      const value = Object.hasOwn(row, name) ? row[name] : undefined;
      if (value === undefined) return false;
      try {
        stored.set(name, value === null ? null : kinds[kind].fromJson(value, unrestrictedRules));
        return true;
      } catch {
        // No stored row can have this value, because the service refuses it.
        return false;
      }
    },
    demote() {},
  });
  return matches({ row: Object.fromEntries(stored) });
}

function revived(filter: DescribedFilter): Filter {
  switch (filter.kind) {
    case "all":
      return allRows;
    case "none":
      return noRows;
    case "and":
    case "or":
      return { kind: filter.kind, terms: filter.terms.map(revived) };
    case "not":
      return { kind: "not", term: revived(filter.term) };
    case "compare": {
      const { field: name, type: kind, values } = filter;
      const operator = operators.get(filter.operator);
      // The cast is safe: in memory, the built-in operators read only these members.
      if (operator) return comparison(operator, { name, kind } as ColumnInfo, values);
    }
  }
  // A newer service may send an unknown term. The cast is safe: no relation is decided in memory.
  return { kind: "related" } as Related;
}

const operators = createOperatorRegistry({});
