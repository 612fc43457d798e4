import type { AnyTable } from "../schema/table_like.ts";
import { type FilterText, placeholder, templateMark } from "./filter_text.ts";
import { and, type Filter, isFilter, missingRows, not, or } from "./filter.ts";
import { type FilterContext, type ResolveComparison, resolveFilterWith } from "./resolve_filter.ts";
import { notFilter, RuleFault } from "./rule_fault.ts";
import type { CachingFilterParser } from "./syntax/caching_filter_parser.ts";
import {
  type ComparisonSyntax,
  type FilterSyntax,
  type InsertedSyntax,
  type Literal,
  termsOfSyntax,
} from "./syntax/filter_syntax.ts";
import { failClosedComparison, fitsDocumentPaths } from "./operators/path_comparison.ts";
import type { Operator } from "./operators/operator.ts";
import {
  type ComparedField,
  isNullWord,
  operatorMismatch,
  requireValueCount,
  resolveComparison,
} from "./resolve_comparison.ts";
import { Problem } from "../problem/problem.ts";
import { excerptOf, filterError } from "./syntax/filter_error.ts";

/** A condition on rows: a filter, a template of `rsql`, a quantifier, or a combination of them. */
export type Rule<Of = AnyTable> = Filter<Of> | FilterText | Draft<Of>;

/** A rule that depends on the service's relations. The service resolves it where it is used. */
export interface Draft<Of = AnyTable> {
  /** Distinguishes a draft from a filter. */
  readonly kind: "draft";
  /** Only for TypeScript, which checks the table. The property never exists. */
  readonly tableName?: Of;
}

interface ResolvableDraft<Of = AnyTable> extends Draft<Of> {
  readonly toFilter: (context: FilterContext, resolve: RuleToFilter) => Filter;
}

export function draft(toFilter: ResolvableDraft["toFilter"]): ResolvableDraft {
  return { kind: "draft", toFilter };
}

type RuleToFilter = (rule: Rule, context: FilterContext) => Filter;

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

/** Returns the rule for the rows that match at least one rule. Without rules, no row matches. */
export function orRules<Of = AnyTable>(...rules: readonly Filter<Of>[]): Filter<Of>;
/** Returns the rule for the rows that match at least one of the rules, of any form. */
export function orRules<Of = AnyTable>(...rules: readonly Rule<Of>[]): Rule<Of>;
export function orRules<Of = AnyTable>(...rules: readonly Rule<Of>[]): Rule<Of> {
  return combined(rules, or);
}

/**
 * Returns the rule for the rows that do not match a rule, including rows with an unknown result
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

function isResolved<Of>(rule: Rule<Of>): rule is Filter<Of> {
  return rule?.kind !== "draft" && rule?.kind !== "text";
}

/** Returns true for a rule. A parsed JSON value is never a rule, so users cannot send rules. */
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

/** Matches the marker of a value in a template's string, even if an excerpt cuts the marker off. */
const marker = new RegExp(`${placeholder}\\d*${placeholder}?`, "g");
const onlyMarker = new RegExp(`^${placeholder}\\d+${placeholder}$`);

/**
 * Parses a filter that `rsql` has built. Returns null for a blank filter. Each marker must be a
 * complete value or, for a rule, a complete term. For a marker in another place, such as in a
 * quoted name, throws a plain Error, because the user's value would change the filter. A parse
 * error's message shows `${…}` for each value.
 */
function parseTemplate(
  { text, values }: FilterText,
  filters: CachingFilterParser,
): FilterSyntax | null {
  const syntax = parseReadably(text, filters);
  if (syntax === null) return null;
  const literals = literalsOf(syntax);
  const inserted = insertedIn(syntax);
  const wrong = literals.find((one) => isRule(values[templateValueIndex(one) ?? -1]));
  if (wrong !== undefined) throw misplaced(templateValueIndex(wrong) ?? 0, "a filter", "a value");
  const bare = inserted.find(({ index }) => !isRule(values[index]));
  if (bare !== undefined) throw misplaced(bare.index, "a value", "a filter");
  const places = new Set([...literals.filter(isValue), ...inserted].map(({ at }) => at));
  // Each value has a complete marker, so no marker is in another place.
  if (places.size === values.length) return syntax;
  for (const [index, { 0: mark, index: at }] of [...text.matchAll(marker)].entries()) {
    if (places.has(at)) continue;
    const literal = literals.find((one) => one.text.includes(mark));
    const shown = literal?.text ?? text.slice(Math.max(0, at - 10));
    throw new RuleFault(
      `Cannot build the filter: value ${index + 1} stands ${whereIn(literal)}: ${
        excerptOf(readable(shown))
      }`,
    );
  }
  return syntax;
}

function templateValueIndex(literal: Literal): number | null {
  return isValue(literal) ? Number(literal.text.slice(1, -1)) : null;
}

function isValue({ text, quoted }: Literal): boolean {
  return !quoted && text.startsWith(placeholder) && onlyMarker.test(text);
}

function whereIn(literal: Literal | undefined): string {
  if (literal === undefined) return "where the filter has a name, not a value";
  return literal.quoted ? "inside quotes" : "in part of a word";
}

function literalsOf(syntax: FilterSyntax): readonly Literal[] {
  return syntax.kind === "compare" ? syntax.values : termsOfSyntax(syntax).flatMap(literalsOf);
}

function insertedIn(syntax: FilterSyntax): readonly InsertedSyntax[] {
  return syntax.kind === "inserted" ? [syntax] : termsOfSyntax(syntax).flatMap(insertedIn);
}

function misplaced(index: number, found: string, wanted: string): Error {
  return new RuleFault(
    `Cannot build the filter: value ${index + 1} is ${found} in the place of ${wanted}`,
  );
}

function parseReadably(text: string, filters: CachingFilterParser): FilterSyntax | null {
  try {
    return filters.parse(text);
  } catch (error) {
    if (!(error instanceof Problem) || !text.includes(placeholder)) throw error;
    const { position, expected } = error.details ?? {};
    throw filterError(Number(position), String(expected), readable(error.message));
  }
}

function readable(text: string): string {
  return text.replace(marker, "${…}");
}

export type OnTemplate = (syntax: FilterSyntax, context: FilterContext, text: string) => void;

/** Resolves a rule from code. A blank template matches no row. Any column is allowed. */
export function filterOfRule(
  rule: Rule,
  context: FilterContext,
  filters: CachingFilterParser,
  onTemplate: OnTemplate = () => {},
): Filter {
  const resolve = (inner: Rule, there: FilterContext) =>
    filterOfRule(inner, there, filters, onTemplate);
  if (isResolved(rule)) return rule;
  // The cast is safe: only the function `draft` creates drafts.
  if (rule.kind === "draft") return (rule as ResolvableDraft).toFilter(context, resolve);
  return filterOfTemplate(rule, context, filters, { resolve, onTemplate }) ?? missingRows;
}

export function filterOfTemplate(
  template: FilterText,
  context: FilterContext,
  filters: CachingFilterParser,
  { resolve, onTemplate }: {
    readonly resolve: (rule: Rule, context: FilterContext) => Filter;
    readonly onTemplate?: OnTemplate;
  },
): Filter | null {
  const { values } = template;
  const syntax = parseTemplate(template, filters);
  if (syntax === null) return null;
  onTemplate?.(syntax, context, template.text);
  return resolveFilterWith(syntax, context, createPlaceholderResolver(values), (index, there) => {
    // The cast is safe: `parseTemplate` has checked that values in place of terms are rules.
    return resolve(values[index] as Rule, there);
  });
}

function createPlaceholderResolver(values: readonly unknown[]): ResolveComparison {
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
  const takesMany = ["list", "pair", "items", "texts", "query"].includes(takes);
  const values = syntax.values.flatMap((literal) => {
    const index = templateValueIndex(literal);
    const value = index !== null ? given[index] : isNullWord(literal) ? null : literal.text;
    return takesMany && Array.isArray(value) ? value : [value];
  });
  if (!takesMany) requireValueCount(syntax, operator);
  if (path === null ? !operator.accepts(column) : !fitsDocumentPaths(operator)) {
    throw operatorMismatch(syntax, operator, column);
  }
  return failClosedComparison(operator, column, values, path);
}
