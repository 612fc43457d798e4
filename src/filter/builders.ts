import {
  type AnyTable,
  columnInfoOf,
  type ColumnLike,
  type ServedValue,
} from "../schema/table_like.ts";
import { failClosedComparison } from "./operators/path_comparison.ts";
import { allRows, type Filter, noRows } from "./filter.ts";
import type { Operator } from "./operators/operator.ts";
import { RuleFault } from "./rule_fault.ts";
import { likeOperator } from "./operators/text_operators.ts";
import {
  equalOperator,
  greaterOperator,
  greaterOrEqualOperator,
  hasAllOperator,
  hasAnyOperator,
  hasOperator,
  inOperator,
  lessOperator,
  lessOrEqualOperator,
  notEqualOperator,
  nullTest,
} from "./operators/operator_registry.ts";

/** Builds the filter that every row matches, as an explicit "no restriction". */
export function all(): Filter<never> {
  return allRows;
}

/** Builds the filter that no row matches. */
export function none(): Filter<never> {
  return noRows;
}

/** A value for a filter builder. Undefined and null match nothing, e.g. a missing user id. */
export type FilterValue<T> = T | ServedValue<T> | null | undefined;

/** Builds a filter that compares a column with a value. */
export interface ComparisonBuilder {
  <T, Of = AnyTable>(column: ColumnLike<T, Of>, value: FilterValue<NoInfer<T>>): Filter<Of>;
}

/**
 * Builds a filter for the rows whose column equals the value. In all builders of comparisons,
 * undefined, null, NaN and a value that the column cannot store match no row; use {@link isNull} to
 * test for NULL.
 *
 * @throws {TypeError} If the value is a whole number beyond 2^53, which JavaScript rounds, and the
 * column does not contain reals. Pass a string or a bigint instead.
 * @example
 * ```ts
 * import { and, eq, isNull, rsql, table, text } from "@svc/resource-api";
 *
 * const notes = table("notes", { id: text().primaryKey(), ownerId: text(), deletedAt: text() });
 * const scope = (user: { id: string }) => and(eq(notes.ownerId, user.id), isNull(notes.deletedAt));
 * ```
 */
export const eq: ComparisonBuilder = comparing(equalOperator);

/** Builds a filter for the rows whose column has another value. A NULL does not match. */
export const ne: ComparisonBuilder = comparing(notEqualOperator);

/** Builds a filter for the rows whose column is greater than the value. */
export const gt: ComparisonBuilder = comparing(greaterOperator);

/** Builds a filter for the rows whose column is greater than or equal to the value. */
export const gte: ComparisonBuilder = comparing(greaterOrEqualOperator);

/** Builds a filter for the rows whose column is less than the value. */
export const lt: ComparisonBuilder = comparing(lessOperator);

/** Builds a filter for the rows whose column is less than or equal to the value. */
export const lte: ComparisonBuilder = comparing(lessOrEqualOperator);

/**
 * Builds a filter for the rows whose column has one of the values. An empty list matches
 * nothing, and so does a list with undefined, null, NaN or a value that the column cannot store.
 */
export function inList<T, Of = AnyTable>(
  column: ColumnLike<T, Of>,
  values: readonly FilterValue<NoInfer<T>>[] | null | undefined,
): Filter<Of> {
  return build(inOperator, column, values ?? [undefined]);
}

/**
 * Builds a filter for the rows whose list contains the value. The column contains lists
 * (such as Postgres arrays) or JSON documents. A document that is not a list never matches.
 *
 * @example
 * ```ts
 * import { has, hasAll, hasAny, json, or, table, text } from "@svc/resource-api";
 *
 * const notes = table("notes", { id: text().primaryKey(), tags: json<string[]>() });
 * const marked = or(has(notes.tags, "red"), hasAny(notes.tags, ["new", "hot"]));
 * const both = hasAll(notes.tags, ["new", "hot"]);
 * ```
 */
export function has<T, Of = AnyTable>(
  column: ColumnLike<readonly T[], Of>,
  value: FilterValue<NoInfer<T>>,
): Filter<Of> {
  return build(hasOperator, column, [value]);
}

/** Builds a filter for the rows whose list contains one of the values. */
export function hasAny<T, Of = AnyTable>(
  column: ColumnLike<readonly T[], Of>,
  values: readonly FilterValue<NoInfer<T>>[] | null | undefined,
): Filter<Of> {
  return build(hasAnyOperator, column, values ?? [undefined]);
}

/** Builds a filter for the rows whose list contains every one of the values. */
export function hasAll<T, Of = AnyTable>(
  column: ColumnLike<readonly T[], Of>,
  values: readonly FilterValue<NoInfer<T>>[] | null | undefined,
): Filter<Of> {
  return build(hasAllOperator, column, values ?? [undefined]);
}

/** Builds a filter for the rows whose column is NULL. */
export function isNull<Of = AnyTable>(column: ColumnLike<unknown, Of>): Filter<Of> {
  return nullTest(columnInfoOf(column), true);
}

/** Builds a filter for the rows whose column has a value. */
export function isNotNull<Of = AnyTable>(column: ColumnLike<unknown, Of>): Filter<Of> {
  return nullTest(columnInfoOf(column), false);
}

/** Builds a filter for strings that match the pattern (`%`, `_`, `\` escapes). Case matters. */
export function like<Of = AnyTable>(
  column: ColumnLike<string, Of>,
  pattern: FilterValue<string>,
): Filter<Of> {
  return build(likeOperator, column, [pattern]);
}

function comparing(operator: Operator): ComparisonBuilder {
  return (column, value) => build(operator, column, [value]);
}

function build(
  operator: Operator,
  column: ColumnLike<unknown>,
  values: readonly unknown[],
): Filter {
  const info = columnInfoOf(column);
  const [symbol] = operator.symbols;
  if (!operator.accepts(info)) {
    throw new RuleFault(
      `Cannot filter by "${info.name}": ${symbol} does not fit the kind ${info.kind}`,
    );
  }
  return failClosedComparison(operator, info, values);
}
