import { didYouMean, nearestField } from "../problem/nearest_name.ts";
import type { Problem } from "../problem/problem.ts";
import type { Relation } from "../schema/relation.ts";
import { isDocument } from "../schema/structured/structured_value.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import { isJsonIndex, type JsonPath } from "../sql/json_path_dialect.ts";
import { and, type Filter, not, or, quantified, someRelated } from "./filter.ts";
import { patternCharactersForLimit } from "./operators/like_pattern.ts";
import type { Operator } from "./operators/operator.ts";
import type { OperatorRegistry } from "./operators/operator_registry.ts";
import { type ComparedField, resolveComparison } from "./resolve_comparison.ts";
import { excerptOf, filterError, filterTooLarge, unreadableFilter } from "./syntax/filter_error.ts";
import { type ComparisonSyntax, filterLimits, type FilterSyntax } from "./syntax/filter_syntax.ts";
import { quotePath } from "./syntax/quoted_name.ts";

export interface FilterContext {
  readonly table: TableInfo;
  readonly operators: OperatorRegistry;
  /** Returns true if the filter is allowed to use a column. Other columns count as unknown. */
  mayFilter(column: ColumnInfo): boolean;
  /** True if the client uses the safe form of JSON, in which a number beyond 2^53 is a string. */
  readonly safeNumbers?: boolean;
  readonly readable?: readonly ColumnInfo[];
  follow?(name: string): FilterableRelation | null;
  relationNames?(): readonly string[];
}

export interface FilterableRelation {
  readonly relation: Relation;
  readonly target: FilterContext;
}

/** Throws a {@link Problem} `filter-parse-error` at the first invalid name, operator or value. */
export function resolveFilter(syntax: FilterSyntax, context: FilterContext): Filter {
  let patterns = 0;
  return resolveFilterWith(syntax, context, (comparison, field, operator) => {
    const filter = resolveComparison(comparison, field, operator);
    if (operator.takes === "pattern") {
      for (const { text, at } of comparison.values) {
        patterns += patternCharactersForLimit(text);
        if (patterns > filterLimits.patterns) throw tooManyPatterns(at);
      }
    }
    return filter;
  });
}

function tooManyPatterns(position: number): Problem {
  const limit = `${filterLimits.patterns} characters of patterns with wildcards`;
  return filterTooLarge(position, `${limit} other than % at their ends`);
}

export type ResolveComparison = (
  syntax: ComparisonSyntax,
  field: ComparedField,
  operator: Operator,
) => Filter;

export type ResolveInserted = (index: number, context: FilterContext) => Filter;

/** Resolves each comparison by `toFilter`. Without `insert`, an interpolated rule is an error. */
export function resolveFilterWith(
  syntax: FilterSyntax,
  context: FilterContext,
  toFilter: ResolveComparison,
  insert?: ResolveInserted,
): Filter {
  const resolved = (term: FilterSyntax, there = context) =>
    resolveFilterWith(term, there, toFilter, insert);
  switch (syntax.kind) {
    case "compare": {
      const { walk, field, operators } = findField(syntax, context);
      return someRelated(walk, toFilter(syntax, field, findOperator(syntax, operators)));
    }
    case "and":
      return and(...syntax.terms.map((term) => resolved(term)));
    case "or":
      return or(...syntax.terms.map((term) => resolved(term)));
    case "not":
      return not(resolved(syntax.term));
    case "some":
    case "none":
    case "every": {
      const { walk, target } = followPath(syntax.path, context, syntax.pathAt);
      return quantified(syntax.kind, walk, resolved(syntax.term, target));
    }
    case "inserted":
      if (insert !== undefined) return insert(syntax.index, context);
      throw unreadableFilter(syntax.at, "a field", "expected a field");
  }
}

function followPath(
  path: readonly string[],
  context: FilterContext,
  position: number,
): { readonly walk: readonly Relation[]; readonly target: FilterContext } {
  const walk: Relation[] = [];
  let target = context;
  for (const [index, name] of path.entries()) {
    const next = target.follow?.(name) ?? null;
    if (next === null) {
      const near = nearestField(name, target.relationNames?.() ?? []);
      const hint = near === null ? "" : `. Did you mean ${shownPath(path.with(index, near))}?`;
      throw filterError(
        position,
        "a relation that may be filtered by",
        `Cannot filter by ${excerptOf(path.join("."))} at ${position}: there is no relation of ` +
          `this name to filter by${hint}`,
      );
    }
    walk.push(next.relation);
    target = next.target;
  }
  return { walk, target };
}

interface FoundField {
  readonly walk: readonly Relation[];
  readonly field: ComparedField;
  readonly operators: OperatorRegistry;
}

function findField(syntax: ComparisonSyntax, context: FilterContext): FoundField {
  const { field, path = field.split("."), fieldAt } = syntax;
  const whole = syntax.path === undefined ? ownColumn(field, [], context) : null;
  const found = whole ?? walkPath(path, context);
  if (found !== null) {
    if (found.field.path !== null) requireShortPath(found.field.path, fieldAt);
    return found;
  }
  throw unknownField(path, fieldAt, context, field);
}

export function unknownField(
  path: readonly string[],
  position: number,
  context: FilterContext,
  field = path.join("."),
): Problem {
  // Unknown and forbidden names have the same message, which must not reveal that a name exists.
  const reason = `there is no field of this name to filter by${suggestion(path, context)}`;
  const shown = excerptOf(path.length === 1 ? path.join() : field);
  return filterError(
    position,
    "a field that may be filtered by",
    `Cannot filter by ${shown} at ${position}: ${reason}`,
  );
}

function suggestion(parts: readonly string[], context: FilterContext): string {
  let here = context;
  for (const [index, part] of parts.entries()) {
    const isLast = index === parts.length - 1;
    const next = isLast ? null : here.follow?.(part) ?? null;
    if (next === null) {
      const near = nearestField(part, isLast ? fieldNames(here) : here.relationNames?.() ?? []);
      return near === null ? "" : `. Did you mean ${shownPath(parts.with(index, near))}?`;
    }
    here = next.target;
  }
  return "";
}

function shownPath(names: readonly string[]): string {
  const selector = quotePath(names);
  return selector.includes('"') ? selector : `"${selector}"`;
}

function requireShortPath(path: JsonPath, fieldAt: number): void {
  const { pathNames, pathIndexes } = filterLimits;
  if (path.length > pathNames) {
    throw filterTooLarge(fieldAt, `${pathNames} names within a document`);
  }
  if (path.filter(isJsonIndex).length <= pathIndexes) return;
  throw filterTooLarge(fieldAt, `${pathIndexes} indexes within a document`);
}

function fieldNames({ mayFilter, readable = [] }: FilterContext): readonly string[] {
  return readable.filter(mayFilter).map(({ name }) => name);
}

function walkPath(names: readonly string[], context: FilterContext): FoundField | null {
  const walk: Relation[] = [];
  let here = context;
  for (const [index, name] of names.entries()) {
    const inner = names.slice(index + 1);
    const next = inner.length === 0 ? null : here.follow?.(name) ?? null;
    if (next === null) {
      const found = ownColumn(name, walk, here);
      if (inner.length === 0 || found === null) return found;
      const { column } = found.field;
      return isDocument(column) ? { ...found, field: { ...found.field, path: inner } } : null;
    }
    walk.push(next.relation);
    here = next.target;
  }
  return null;
}

function ownColumn(
  name: string,
  walk: readonly Relation[],
  { table, operators, mayFilter, safeNumbers = false }: FilterContext,
): FoundField | null {
  const column = table.byName.get(name);
  if (column === undefined || !mayFilter(column)) return null;
  return { walk, field: { column, path: null, safeNumbers }, operators };
}

function findOperator(
  { operator: symbol, operatorAt }: ComparisonSyntax,
  operators: OperatorRegistry,
): Operator {
  const operator = operators.get(symbol);
  if (operator !== undefined) return operator;
  throw unreadableFilter(
    operatorAt,
    "a known operator",
    `unknown operator ${excerptOf(symbol)}` +
      didYouMean(symbol, [...operators.keys()]),
  );
}
