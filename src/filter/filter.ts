import type { Relation } from "../schema/relation.ts";
import type { ColumnInfo } from "../schema/table_info.ts";
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
 * another table. Without `Of`, TypeScript accepts the filter for any table.
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
  // Exists only for the type checker of TypeScript.
  & { readonly tableName?: Of };

/**
 * A node of a filter that compares a column. `values` has as many items as the operator takes. For
 * a column, the items are in-process values. For a value in a document, they are operands.
 */
export interface Comparison {
  /** Distinguishes this node from other filters. */
  readonly kind: "compare";
  /** The compared column. */
  readonly column: ColumnInfo;
  /**
   * The path of names to the compared value within a JSON document. Absent if the whole value of a
   * column is compared. Only the database evaluates a path.
   */
  readonly path?: JsonPath;
  /** The operator. */
  readonly operator: Operator;
  /** The operands. */
  readonly values: readonly unknown[];
}

/**
 * A node of a filter that follows a relation. A row matches if at least one related row matches.
 * Only the database evaluates such a node.
 */
export interface Related {
  /** Distinguishes this node from other filters. */
  readonly kind: "related";
  /** The relation to the related rows. */
  readonly relation: Relation;
  /** The filter over the relation's target. */
  readonly filter: Filter;
  /** The filter over the link table of `manyToMany`, or `all` for other relations. */
  readonly links: Filter;
  /**
   * True if the matching related rows are found once for all rows, instead of once for each row.
   * This is better if one related row belongs to many rows.
   */
  readonly once?: boolean;
}

/**
 * A node of a filter that inverts its term. It matches every row that does not match the term. If
 * the term is unknown for a row because of NULL, the row does not match the term.
 */
export interface Not {
  /** Distinguishes this node from other filters. */
  readonly kind: "not";
  /** The inverted filter. */
  readonly term: Filter;
}

/** The filter that every row passes. */
export const allRows: Filter<never> = Object.freeze({ kind: "all" });
/** The filter that no row passes. */
export const noRows: Filter<never> = Object.freeze({ kind: "none" });

/**
 * The filter of a comparison with a missing value. No row passes it, and no row passes a negation of
 * a filter that contains it. So a missing user id never grants access. The functions of this file
 * distinguish this object from {@link noRows}.
 */
export const missingRows: Filter<never> = Object.freeze({ kind: "none" });

/** Returns a comparison whose values already have the types that the operator takes. */
export function comparison(
  operator: Operator,
  column: ColumnInfo,
  values: readonly unknown[],
): Comparison {
  return { kind: "compare", column, operator, values };
}

/**
 * Returns a filter for the rows that pass every one of its terms. If one term is `none`, the result
 * is `none`. Terms that are `all` are left out.
 */
export function and<Of = AnyTable>(...filters: readonly Filter<Of>[]): Filter<Of> {
  return combine("and", filters, "none", "all");
}

/**
 * Returns a filter for the rows that pass any of its terms. If one term is `all`, the result is
 * `all`. Terms that are `none` are left out. Without terms, the result is `none`.
 */
export function or<Of = AnyTable>(...filters: readonly Filter<Of>[]): Filter<Of> {
  return combine("or", filters, "all", "none");
}

/**
 * Returns a filter for the rows that do not match a filter, including rows for which it is unknown
 * because of NULL. The negation of a comparison with a missing value matches no row.
 */
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

/**
 * Returns the filter of a quantifier over the rows that a path of relations reaches. `none` is
 * always the complement of `some`. A reached row for which the filter is unknown fails `every`.
 */
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

/** Returns the filter for the rows from which a path of relations reaches a matching row. */
export function someRelated(path: readonly Relation[], filter: Filter): Filter {
  return path.reduceRight<Filter>(
    (inner, relation) =>
      inner.kind === "none" ? inner : { kind: "related", relation, filter: inner, links: allRows },
    filter,
  );
}

/** Returns a filter without marks of missing values. A complete scope is not negated later. */
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

/** Returns true for a filter. A value from JSON is never a filter, and so never a condition. */
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

/** Returns the direct terms of a filter that examine the same row as the filter. */
export function directTerms(filter: Filter): readonly Filter[] {
  if (filter.kind === "and" || filter.kind === "or") return filter.terms;
  return filter.kind === "not" ? [filter.term] : [];
}

function hasMissing(filter: Filter): boolean {
  if (filter === missingRows) return true;
  return filter.kind === "related"
    ? hasMissing(filter.filter)
    : directTerms(filter).some(hasMissing);
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
  // Usually one term remains, because many resources have neither a scope nor soft delete.
  if (!isSeveral) return only ?? (neutral === "all" ? allRows : noRows);
  const terms: Filter[] = [];
  for (const filter of filters) {
    if (filter.kind === absorbing) return absorbed(filter, filters);
    if (filter.kind === kind) terms.push(...filter.terms);
    else if (!isNeutral(filter, neutral)) terms.push(filter);
  }
  return { kind, terms };
}

/** A missing value is kept among the terms, because a negation must find it. */
function isNeutral(filter: Filter, neutral: "all" | "none"): boolean {
  return filter.kind === neutral && filter !== missingRows;
}

/** Returns the result of a group with a term that decides it, if no other term is missing. */
function absorbed(term: Filter, terms: readonly Filter[]): Filter {
  if (!terms.some(hasMissing)) return term;
  return term.kind === "none" ? missingRows : { kind: "or", terms };
}
