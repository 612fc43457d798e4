import { nearestField } from "../problem/nearest_name.ts";
import type { Problem } from "../problem/problem.ts";
import type { Relation } from "../schema/relation.ts";
import { isDocument } from "../schema/structured/kind_of_column.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import { isJsonIndex, type JsonPath } from "../sql/json_path_dialect.ts";
import { allRows, and, type Filter, noRows, or } from "./filter.ts";
import { countedPatternCharacters } from "./operators/like_pattern.ts";
import type { Operator } from "./operators/operator.ts";
import type { OperatorRegistry } from "./operators/operator_registry.ts";
import { type ComparedField, resolveComparison } from "./resolve_comparison.ts";
import { excerptOf, filterError, filterTooLarge } from "./syntax/filter_error.ts";
import { type ComparisonSyntax, filterLimits, type FilterSyntax } from "./syntax/filter_syntax.ts";
import { quotePath } from "./syntax/quoted_name.ts";

/** The context in which a filter is resolved: the names and symbols that its text may use. */
export interface FilterContext {
  readonly table: TableInfo;
  readonly operators: OperatorRegistry;
  /** Returns true if a filter may use a column. Other columns count as unknown. */
  mayFilter(column: ColumnInfo): boolean;
  /** True if the client uses the safe form of numbers, in which keys may be strings. */
  readonly safeNumbers?: boolean;
  /** The columns that a message may suggest if they are filterable. Absent without such columns. */
  readonly readable?: readonly ColumnInfo[];
  /** Returns the relation with a name, or null. Absent if filters may not follow relations. */
  follow?(name: string): FilterableRelation | null;
  /** The names of the relations that filters may follow, for suggestions. */
  relationNames?(): readonly string[];
}

/** A relation that a filter may follow, and the context for names of the related table. */
export interface FilterableRelation {
  readonly relation: Relation;
  readonly target: FilterContext;
}

/**
 * Resolves a parsed filter: names become columns, and values get the type of their column. Throws a
 * {@link Problem} `filter-parse-error` at the first unresolvable name, operator or value.
 */
export function resolveFilter(syntax: FilterSyntax, context: FilterContext): Filter {
  let patterns = 0;
  return resolveFilterWith(syntax, context, (comparison, field, operator) => {
    const filter = resolveComparison(comparison, field, operator);
    if (operator.takes === "pattern") {
      for (const { text, at } of comparison.values) {
        patterns += countedPatternCharacters(text);
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

/** Resolves one comparison of a filter, whose field and operator are known. */
export type ResolveComparison = (
  syntax: ComparisonSyntax,
  field: ComparedField,
  operator: Operator,
) => Filter;

/** Resolves a parsed filter like {@link resolveFilter}, with a custom resolution of comparisons. */
export function resolveFilterWith(
  syntax: FilterSyntax,
  context: FilterContext,
  toFilter: ResolveComparison,
): Filter {
  if (syntax.kind === "compare") {
    const { walk, field, operators } = findField(syntax, context);
    const filter = toFilter(syntax, field, findOperator(syntax, operators));
    return walk.reduceRight<Filter>((inner, relation) => related(relation, inner), filter);
  }
  const terms = syntax.terms.map((term) => resolveFilterWith(term, context, toFilter));
  return syntax.kind === "and" ? and(...terms) : or(...terms);
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

/** Returns the 400 for a path that leads to no field, or to a forbidden field. */
export function unknownField(
  path: readonly string[],
  position: number,
  context: FilterContext,
  field = path.join("."),
): Problem {
  // Unknown and forbidden names have the same message, which must not reveal which names exist.
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

/**
 * Resolves `project.owner.name` to the relations `project` and `owner`, and the column `name`.
 * Names after a json column lead into its documents, because no relation has a column's name.
 */
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

/** Returns a filter along a relation. With `all`, a row passes if it has any related row. */
function related(relation: Relation, filter: Filter): Filter {
  return filter.kind === "none" ? noRows : { kind: "related", relation, filter, links: allRows };
}

function findOperator(
  { operator: symbol, operatorAt }: ComparisonSyntax,
  operators: OperatorRegistry,
): Operator {
  const operator = operators.get(symbol);
  if (operator !== undefined) return operator;
  throw filterError(
    operatorAt,
    "a known operator",
    `Cannot read the filter at ${operatorAt}: unknown operator ${excerptOf(symbol)}`,
  );
}
