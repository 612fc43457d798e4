import type { Relation } from "../schema/relation.ts";
import type { ColumnInfo } from "../schema/table_info.ts";
import type { AnyTable } from "../schema/table_like.ts";
import type { JsonPath } from "../sql/json_path_dialect.ts";
import type { Operator } from "./operators/operator.ts";

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

/** The filter that every row passes. */
export const allRows: Filter<never> = Object.freeze({ kind: "all" });
/** The filter that no row passes. */
export const noRows: Filter<never> = Object.freeze({ kind: "none" });

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
 *
 * @example The builders of filters, in the scopes of a resource
 * ```ts
 * import {
 *   all, and, gt, gte, inList, integer, isNotNull, like, lt, lte, ne, none, or, resource, table, text,
 *   type User,
 * } from "@svc/resource-api";
 *
 * const books = table("books", {
 *   id: integer().primaryKey(),
 *   title: text().notNull(),
 *   pages: integer(),
 *   ownerId: text(),
 * });
 * const isShort = or(lt(books.pages, 100), lte(books.pages, 120));
 * const isLong = and(gt(books.pages, 500), gte(books.pages, 600), isNotNull(books.ownerId));
 * resource(books, {
 *   id: books.id,
 *   auth: {
 *     read: () => all(), // every row
 *     create: ({ id }: User) => and(ne(books.title, ""), inList(books.ownerId, [id])),
 *     update: () => or(isShort, isLong, like(books.title, "A %")),
 *     delete: () => none(), // no row
 *   },
 * });
 * ```
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

function combine(
  kind: "and" | "or",
  filters: readonly Filter[],
  absorbing: "all" | "none",
  neutral: "all" | "none",
): Filter {
  let only: Filter | null = null;
  let isSeveral = false;
  for (const filter of filters) {
    if (filter.kind === absorbing) return filter;
    if (filter.kind === neutral) continue;
    isSeveral = only !== null;
    if (isSeveral) break;
    only = filter;
  }
  // Usually one term remains, because many resources have neither a scope nor soft delete.
  if (!isSeveral) return only ?? (neutral === "all" ? allRows : noRows);
  const terms: Filter[] = [];
  for (const filter of filters) {
    if (filter.kind === absorbing) return filter;
    if (filter.kind === kind) terms.push(...filter.terms);
    else if (filter.kind !== neutral) terms.push(filter);
  }
  return { kind, terms };
}
