import { nearestField } from "../problem/nearest_name.ts";
import type { Problem } from "../problem/problem.ts";
import { unreachable } from "../problem/unreachable.ts";
import { InvalidValue } from "../schema/kind.ts";
import { kindOf } from "../schema/kind_of.ts";
import { allRows, and, comparison, type Filter, noRows, or } from "./filter.ts";
import { nullTest } from "./operators/null_operators.ts";
import { excerptOf, filterError, filterTooLarge, plusHint } from "./syntax/filter_error.ts";
import { quotePath } from "./syntax/quoted_name.ts";
import { countedCharacters, patternFault } from "./operators/like_pattern.ts";
import {
  type ComparisonSyntax,
  filterLimits,
  type FilterSyntax,
  type Literal,
} from "./syntax/filter_syntax.ts";
import type { Relation } from "../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { Operator } from "./operators/operator.ts";
import type { OperatorRegistry } from "./operators/operator_registry.ts";

/** The context in which a filter is resolved: the names and symbols that its text may use. */
export interface FilterContext {
  readonly table: TableInfo;
  readonly operators: OperatorRegistry;
  /** Whether a column may be filtered by. One that may not is treated like an unknown one. */
  mayFilter(column: ColumnInfo): boolean;
  /** The columns whose names a message may suggest, if they may be filtered by; absent for none. */
  readonly readable?: readonly ColumnInfo[];
  /** The relation of a dotted name; null for an unknown one. Absent where no relation is allowed. */
  follow?(name: string): FilterableRelation | null;
  /** The names of these relations, for suggestions. */
  relationNames?(): readonly string[];
}

/** A relation that a filter may follow when it is resolved, and the context at its target. */
export interface FilterableRelation {
  readonly relation: Relation;
  readonly target: FilterContext;
}

/**
 * Resolves a parsed filter: names become columns, values get the type of their column. Throws a
 * {@link Problem} `filter-parse-error` at the first name, operator or value that cannot be
 * resolved.
 */
export function resolveFilter(syntax: FilterSyntax, context: FilterContext): Filter {
  let patterns = 0;
  return resolveFilterWith(syntax, context, (comparison, column, operator) => {
    const filter = resolveComparison(comparison, column, operator);
    if (operator.takes === "pattern") {
      for (const { text, at } of comparison.values) {
        patterns += countedCharacters(text);
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

/** A function that resolves one comparison of a filter, whose column and operator are known. */
export type ResolveComparison = (
  syntax: ComparisonSyntax,
  column: ColumnInfo,
  operator: Operator,
) => Filter;

/** Resolves a parsed filter like {@link resolveFilter}, with a custom resolution of comparisons. */
export function resolveFilterWith(
  syntax: FilterSyntax,
  context: FilterContext,
  toFilter: ResolveComparison,
): Filter {
  if (syntax.kind === "compare") {
    const { path, column, operators } = findColumn(syntax, context);
    const filter = toFilter(syntax, column, findOperator(syntax, operators));
    return path.reduceRight<Filter>((inner, relation) => related(relation, inner), filter);
  }
  const terms = syntax.terms.map((term) => resolveFilterWith(term, context, toFilter));
  return syntax.kind === "and" ? and(...terms) : or(...terms);
}

/** The column of a dotted name, the relations that lead to it, and the operators of its table. */
interface FoundColumn {
  readonly path: readonly Relation[];
  readonly column: ColumnInfo;
  readonly operators: OperatorRegistry;
}

function findColumn(syntax: ComparisonSyntax, context: FilterContext): FoundColumn {
  const { field, path = field.split("."), fieldAt } = syntax;
  const whole = syntax.path === undefined ? ownColumn(field, [], context) : null;
  const found = whole ?? walkPath(path, context);
  if (found !== null) return found;
  // The same message for unknown and forbidden names, so that it does not reveal which exist.
  const reason = `there is no field of this name to filter by${suggestion(path, context)}`;
  const shown = excerptOf(path.length === 1 ? path.join() : field);
  throw filterError(
    fieldAt,
    "a field that may be filtered by",
    `Cannot filter by ${shown} at ${fieldAt}: ${reason}`,
  );
}

/** Asks for the nearest name, of the part of a dotted name that is the first unknown one. */
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

/** Between quotes, which a name that needs them has as part of a selector. */
function shownPath(names: readonly string[]): string {
  const selector = quotePath(names);
  return selector.includes('"') ? selector : `"${selector}"`;
}

function fieldNames({ mayFilter, readable = [] }: FilterContext): readonly string[] {
  return readable.filter(mayFilter).map(({ name }) => name);
}

/** `project.owner.name` → the relations `project` and `owner`, and the column `name`. */
function walkPath(names: readonly string[], context: FilterContext): FoundColumn | null {
  const path: Relation[] = [];
  let here = context;
  for (const name of names.slice(0, -1)) {
    const next = here.follow?.(name) ?? null;
    if (next === null) return null;
    path.push(next.relation);
    here = next.target;
  }
  return ownColumn(names.at(-1) ?? "", path, here);
}

function ownColumn(
  name: string,
  path: readonly Relation[],
  { table, operators, mayFilter }: FilterContext,
): FoundColumn | null {
  const column = table.byName.get(name);
  return column === undefined || !mayFilter(column) ? null : { path, column, operators };
}

/** No related row passes `none`; a filter of `all` still requires that a related row exists. */
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

/**
 * Resolves one comparison of a filter, whose column and operator are known: its values get the type
 * of the column. Throws a {@link Problem} `filter-parse-error` at the first value that does not
 * fit.
 */
export function resolveComparison(
  syntax: ComparisonSyntax,
  column: ColumnInfo,
  operator: Operator,
): Filter {
  // `==null` fits every kind, because it tests for NULL.
  if (operator.nullMeans !== null && !syntax.list && isNullWord(syntax.values[0])) {
    return nullTest(column, operator.nullMeans);
  }
  if (!operator.accepts(column.kind)) throw operatorMisfit(syntax, column);
  requireValueCount(syntax, operator);
  const values = syntax.values.map((literal) => parseLiteral(literal, operator, column));
  return comparison(operator, column, values);
}

/**
 * The error that resolving a filter gives for an operator that does not fit the kind of a column.
 */
export function operatorMisfit(
  { operator, operatorAt }: ComparisonSyntax,
  { name, kind }: ColumnInfo,
): Error {
  return filterError(
    operatorAt,
    `an operator for the kind ${kind}`,
    `Cannot filter by ${excerptOf(name)}: ${excerptOf(operator)} does not fit its kind, ${kind}`,
  );
}

/** Requires, while a filter is resolved, as many values as the operator takes. */
export function requireValueCount(
  { list, values, valuesAt }: ComparisonSyntax,
  { takes }: Operator,
): void {
  if (takes === "list" || takes === "texts") return;
  if (takes === "pair" ? values.length === 2 : !list) return;
  const expected = takes === "pair" ? "exactly two values" : "one value";
  throw filterError(
    valuesAt,
    expected,
    `Cannot read the filter at ${valuesAt}: the operator takes ${expected}`,
  );
}

/** Whether a literal in a filter to resolve is the bare word `null`. */
export function isNullWord(literal: Literal | undefined): boolean {
  return literal !== undefined && !literal.quoted && literal.text === "null";
}

function parseLiteral(literal: Literal, operator: Operator, column: ColumnInfo): unknown {
  if (isNullWord(literal)) {
    throw invalid(literal, column, `must not be null, which stands after "==" and "!=" only`);
  }
  switch (operator.takes) {
    case "value":
    case "list":
    case "pair":
      return typed(literal, column);
    case "text":
    case "texts":
      return literal.text;
    case "pattern": {
      const fault = patternFault(literal.text);
      if (fault === null) return literal.text;
      throw invalid(literal, column, fault);
    }
    case "flag":
      if (!literal.quoted && /^(true|false)$/.test(literal.text)) return literal.text === "true";
      throw invalid(literal, column, "must be true or false");
    case "count":
      // No text has more characters than the largest number that every engine compares with.
      if (!literal.quoted && /^\d+$/.test(literal.text)) {
        return Math.min(Number(literal.text), 0x7fffffff);
      }
      throw invalid(literal, column, "must be a whole number");
    default:
      return unreachable(operator.takes);
  }
}

function typed(literal: Literal, column: ColumnInfo): unknown {
  try {
    return kindOf(column.kind).fromText(literal.text, column);
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error;
    const hint = column.kind === "timestamp" ? plusHint(literal.text) : "";
    throw invalid(literal, column, error.message, hint);
  }
}

function invalid({ at, text }: Literal, column: ColumnInfo, message: string, hint = ""): Error {
  return filterError(
    at,
    `a value that ${message}`,
    `Cannot filter by ${excerptOf(column.name)}: ${excerptOf(text)} ${message}${hint}`,
  );
}
