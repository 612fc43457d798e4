import type { AnyTable } from "../schema/table_like.ts";
import { type FilterText, templateMark } from "./filter_text.ts";
import { and, type Filter, isFilter, not, or } from "./filter.ts";
import type { FilterContext } from "./resolve_filter.ts";
import { notFilter } from "./rule_fault.ts";

/**
 * A condition on the rows of a table, as code writes it: a filter of the builders, a template of
 * `rsql`, a policy's result, a quantifier of `relations`, or a combination of them.
 */
export type Rule<Of = AnyTable> = Filter<Of> | FilterText | Draft<Of>;

/** A rule that depends on the service's relations. The service resolves it where it is used. */
export interface Draft<Of = AnyTable> {
  /** Distinguishes a draft from a filter. */
  readonly kind: "draft";
  /** Only for TypeScript, which checks the table. The property never exists. */
  readonly tableName?: Of;
}

/** A draft with the function that resolves it. This package creates all drafts in this form. */
export interface ResolvableDraft<Of = AnyTable> extends Draft<Of> {
  /** Returns the filter. `resolve` resolves another rule in a context. */
  readonly toFilter: (context: FilterContext, resolve: RuleToFilter) => Filter;
}

export function draft(toFilter: ResolvableDraft["toFilter"]): ResolvableDraft {
  return { kind: "draft", toFilter };
}

export type RuleToFilter = (rule: Rule, context: FilterContext) => Filter;

/**
 * Returns the rule for the rows that match all of the rules. If one of them is `none()`, no row
 * matches. Without rules, every row matches.
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
export function andRules<Of = AnyTable>(...rules: readonly Filter<Of>[]): Filter<Of>;
/** Returns the rule for the rows that match all of the rules, of any form. */
export function andRules<Of = AnyTable>(...rules: readonly Rule<Of>[]): Rule<Of>;
export function andRules<Of = AnyTable>(...rules: readonly Rule<Of>[]): Rule<Of> {
  return combined(rules, and);
}

/**
 * Returns the rule for the rows that match at least one of the rules. If one of them is `all()`,
 * every row matches. Without rules, no row matches.
 */
export function orRules<Of = AnyTable>(...rules: readonly Filter<Of>[]): Filter<Of>;
/** Returns the rule for the rows that match at least one of the rules, of any form. */
export function orRules<Of = AnyTable>(...rules: readonly Rule<Of>[]): Rule<Of>;
export function orRules<Of = AnyTable>(...rules: readonly Rule<Of>[]): Rule<Of> {
  return combined(rules, or);
}

/**
 * Returns the rule for the rows that do not match a rule, including rows for which it is unknown
 * because of NULL. A rule that compares with a missing value, such as `eq(column, undefined)`,
 * matches no row, and neither does its negation.
 *
 * @example
 * ```ts
 * import { eq, not, table, text } from "@svc/resource-api";
 *
 * const notes = table("notes", { id: text().primaryKey(), status: text() });
 * const isOpen = not(eq(notes.status, "closed")); // also the notes without a status
 * ```
 */
export function notRule<Of = AnyTable>(rule: Filter<Of>): Filter<Of>;
/** Returns the rule for the rows that do not match a rule of any form. */
export function notRule<Of = AnyTable>(rule: Rule<Of>): Rule<Of>;
export function notRule<Of = AnyTable>(rule: Rule<Of>): Rule<Of> {
  return combined([rule], (...[filter]) => not(filter!));
}

/** Returns true for a filter, and false for a rule that must still be resolved to a filter. */
export function isResolved<Of>(rule: Rule<Of>): rule is Filter<Of> {
  return rule?.kind !== "draft" && rule?.kind !== "text";
}

/** Returns true for a rule. A parsed JSON value never is one, so users cannot insert rules. */
export function isRule(value: unknown): value is Rule {
  if (isFilter(value)) return true;
  if (typeof value !== "object" || value === null) return false;
  return templateMark in value || "toFilter" in value && typeof value.toFilter === "function";
}

function combined<Of>(
  rules: readonly Rule<Of>[],
  combine: (...filters: readonly Filter[]) => Filter,
): Rule<Of> {
  // Programs without type checks can pass a value that is not a rule.
  const wrong = rules.findIndex((rule) => rule?.kind === undefined);
  if (wrong >= 0) throw notFilter(rules[wrong], `rule ${wrong + 1} of a combination is`);
  // The cast is safe: a combination of filters of one table is a filter of this table.
  if (rules.every(isResolved)) return combine(...rules) as Filter<Of>;
  return draft((context, resolve) => combine(...rules.map((rule) => resolve(rule, context))));
}
