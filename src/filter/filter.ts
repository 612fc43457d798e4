import type { Relation } from "../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { AnyTable } from "../schema/table_like.ts";
import type { JsonPath } from "../sql/json_path_dialect.ts";
import type { Operator } from "./operators/operator.ts";
import type { RelationQuantifier } from "./syntax/filter_syntax.ts";

/**
 * A resolved filter: a condition on rows as a tree. The values in the tree already have the type of
 * their column. `all` and `none` are separate kinds, so code cannot mistake one for the other.
 * Filters are combined as trees, never as strings.
 *
 * `Of` is the name of the filtered table. The builders set it, so TypeScript rejects the filter for
 * another table. Without `Of`, TypeScript accepts it for any table.
 */
export type Filter<Of = AnyTable> =
  & (
    | { readonly kind: "all" }
    | { readonly kind: "none" }
    | { readonly kind: "and"; readonly terms: readonly Filter[] }
    | { readonly kind: "or"; readonly terms: readonly Filter[] }
    | Comparison
    | Related
    | Not
  )
  // Only for TypeScript, which checks the table. The property never exists.
  & { readonly tableName?: Of };

/** A filter node that compares a column. `values` are the operands that the operator takes. */
export interface Comparison {
  /** Distinguishes a comparison from other filter nodes. */
  readonly kind: "compare";
  /** The compared column. */
  readonly column: ColumnInfo;
  /** The path from the column to a value in its JSON document. Absent for the whole value. */
  readonly path?: JsonPath;
  /** The operator. */
  readonly operator: Operator;
  /** The operands. */
  readonly values: readonly unknown[];
}

/** A filter node that at least one related row must match. Only the database evaluates it. */
export interface Related {
  /** Distinguishes a relation from other filter nodes. */
  readonly kind: "related";
  /** The relation to the related rows. */
  readonly relation: Relation;
  /** The filter that the related row must match. */
  readonly filter: Filter;
  /** The filter over the link table of `manyToMany`, or `all` for other relations. */
  readonly links: Filter;
  /** True if the database finds the matching related rows once, instead of for each row. */
  readonly once?: boolean;
}

/** A filter node that inverts its term. Rows with an unknown result (NULL) match as well. */
export interface Not {
  /** Distinguishes a negation from other filter nodes. */
  readonly kind: "not";
  /** The inverted filter. */
  readonly term: Filter;
}

export const allRows: Filter<never> = Object.freeze({ kind: "all" });
export const noRows: Filter<never> = Object.freeze({ kind: "none" });

/**
 * The filter that replaces a comparison with a missing value (undefined or null). No row passes it,
 * and no row passes the negation of a filter that contains it. So a missing user id never grants
 * access. The functions of this file distinguish this object from {@link noRows}.
 */
export const missingRows: Filter<never> = Object.freeze({ kind: "none" });

export function comparison(
  operator: Operator,
  column: ColumnInfo,
  values: readonly unknown[],
): Comparison {
  return { kind: "compare", column, operator, values };
}

/** Joins filters by AND. One `none` makes the result `none`. Terms that are `all` are left out. */
export function and<Of = AnyTable>(...filters: readonly Filter<Of>[]): Filter<Of> {
  return combine("and", filters, "none", "all");
}

/** One term `all` makes the result `all`. Terms `none` are left out. Without terms: `none`. */
export function or<Of = AnyTable>(...filters: readonly Filter<Of>[]): Filter<Of> {
  return combine("or", filters, "all", "none");
}

/** Negates a filter. Rows with an unknown result (NULL) pass. With a missing value, no row does. */
export function not<Of = AnyTable>(filter: Filter<Of>): Filter<Of> {
  if (hasMissing(filter)) return missingRows;
  switch (filter.kind) {
    case "all":
      return noRows;
    case "none":
      return allRows;
    case "not":
      return filter.term;
    default:
      return { kind: "not", term: filter };
  }
}

/** Builds `some`, `every` or `none` filters. A related row with an unknown result fails `every`. */
export function quantified(
  quantifier: RelationQuantifier,
  path: readonly Relation[],
  filter: Filter,
): Filter {
  switch (quantifier) {
    case "some":
      return someRelated(path, filter);
    case "none":
      return not(someRelated(path, filter));
    case "every":
      return not(someRelated(path, not(filter)));
  }
}

export function someRelated(path: readonly Relation[], filter: Filter): Filter {
  return path.reduceRight<Filter>(
    (inner, relation) =>
      inner.kind === "none" ? inner : { kind: "related", relation, filter: inner, links: allRows },
    filter,
  );
}

/** Replaces {@link missingRows} by {@link noRows} in a complete scope, which is never negated. */
export function withoutMissing(filter: Filter): Filter {
  if (!hasMissing(filter)) return filter;
  switch (filter.kind) {
    case "and":
      return and(...filter.terms.map(withoutMissing));
    case "or":
      return or(...filter.terms.map(withoutMissing));
    case "related": {
      const inner = withoutMissing(filter.filter);
      return inner.kind === "none" ? noRows : { ...filter, filter: inner };
    }
    default:
      return noRows;
  }
}

/** Returns true for a filter. A parsed JSON value is never one, so clients cannot send a filter. */
export function isFilter(value: unknown): value is Filter {
  if (value === allRows || value === noRows || value === missingRows) return true;
  if (typeof value !== "object" || value === null || !("kind" in value)) return false;
  if ("terms" in value && Array.isArray(value.terms)) {
    return value.terms.length > 0 && value.terms.every(isFilter);
  }
  if (value.kind === "related" && "filter" in value) return isFilter(value.filter);
  if (value.kind === "not" && "term" in value) return isFilter(value.term);
  return value.kind === "compare" && "operator" in value && typeof value.operator === "object" &&
    value.operator !== null && "toSql" in value.operator &&
    typeof value.operator.toSql === "function";
}

/** Returns the terms of AND, OR or NOT: they test the same row, unlike the filter of a relation. */
export function termsOnSameRow(filter: Filter): readonly Filter[] {
  if (filter.kind === "and" || filter.kind === "or") return filter.terms;
  return filter.kind === "not" ? [filter.term] : [];
}

export function comparedColumns(filter: Filter): readonly ColumnInfo[] {
  if (filter.kind === "compare") return [filter.column];
  return termsOnSameRow(filter).flatMap(comparedColumns);
}

function hasMissing(filter: Filter): boolean {
  if (filter === missingRows) return true;
  return filter.kind === "related"
    ? hasMissing(filter.filter)
    : termsOnSameRow(filter).some(hasMissing);
}

function combine(
  kind: "and" | "or",
  filters: readonly Filter[],
  absorbing: "all" | "none",
  neutral: "all" | "none",
): Filter {
  let only: Filter | null = null;
  let isSeveral = false;
  for (const filter of filters) {
    if (filter.kind === absorbing) return absorbed(filter, filters);
    if (isNeutral(filter, neutral)) continue;
    isSeveral = only !== null;
    if (isSeveral) break;
    only = filter;
  }
  // Often only one term remains, because many resources have neither a scope nor soft delete.
  if (!isSeveral) return only ?? (neutral === "all" ? allRows : noRows);
  const terms: Filter[] = [];
  for (const filter of filters) {
    if (filter.kind === absorbing) return absorbed(filter, filters);
    if (filter.kind === kind) terms.push(...filter.terms);
    else if (!isNeutral(filter, neutral)) terms.push(filter);
  }
  return { kind, terms };
}

/** A missing value stays among the terms, because a later negation must find it. */
function isNeutral(filter: Filter, neutral: "all" | "none"): boolean {
  return filter.kind === neutral && filter !== missingRows;
}

/** Returns the result of a group that `term` decides. Keeps missing values for a later negation. */
function absorbed(term: Filter, terms: readonly Filter[]): Filter {
  if (!terms.some(hasMissing)) return term;
  return term.kind === "none" ? missingRows : { kind: "or", terms };
}

/** Returns the terms of a filter that follow a relation, but not the terms inside those terms. */
export function relatedTerms(filter: Filter): readonly Related[] {
  return filter.kind === "related" ? [filter] : termsOnSameRow(filter).flatMap(relatedTerms);
}

export function reachesTable(filter: Filter, table: TableInfo): boolean {
  return relatedTerms(filter).some(({ relation, filter }) =>
    relation.steps.some((step) => step.table === table) || reachesTable(filter, table)
  );
}
