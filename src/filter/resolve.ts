import { Problem } from "../problem/problem.ts";
import { shown } from "../problem/shown.ts";
import { unreachable } from "../problem/unreachable.ts";
import { InvalidValue } from "../schema/kind.ts";
import { kindOf } from "../schema/kinds.ts";
import type { Relation } from "../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import { type FilterText, hole } from "./builders.ts";
import { compare, comparison, nullTest } from "./comparison.ts";
import { allRows, and, type Filter, noRows, or } from "./filter.ts";
import { excerpt, filterError, plusHint } from "./filter_error.ts";
import { patternFault } from "./like.ts";
import type { Operator } from "./operator.ts";
import type { Operators } from "./operators.ts";
import type { FilterParser } from "./parse_filter.ts";
import type { ComparisonSyntax, FilterSyntax, Literal } from "./syntax.ts";

/** What names and symbols of a filter's text stand for. */
export interface FilterContext {
  readonly table: TableInfo;
  readonly operators: Operators;
  /** Whether a column may be filtered by. One that may not is treated like one that is not there. */
  mayFilter(column: ColumnInfo): boolean;
  /** Where the relation of a dotted name leads, null where there is none; absent, none is walked. */
  follow?(name: string): Followed | null;
}

/** A relation that may be walked, and what names mean at its end. */
export interface Followed {
  readonly relation: Relation;
  readonly target: FilterContext;
}

/** What a scope is given its meaning with; no column is closed to it. */
export interface ScopeContext extends Pick<FilterContext, "table" | "operators"> {
  readonly filters: FilterParser;
  /** The relation of a table's rows by name. */
  relation(table: TableInfo, name: string): Relation | undefined;
}

/**
 * Gives a filter its meaning: names become columns, values get the type of their column. Throws
 * a {@link Problem} `filter-parse-error` at what has none.
 */
export function resolveFilter(syntax: FilterSyntax, context: FilterContext): Filter {
  return resolve(syntax, context, resolveComparison);
}

/**
 * The filter that a scope function has answered with. An empty text denies. Throws a plain Error
 * for a text that cannot be read, for columns of another table and for anything that is no filter:
 * a scope is not the caller's.
 */
export function resolveScope(scope: Filter | FilterText | string, context: ScopeContext): Filter {
  if (typeof scope === "string") return resolveText(scope, context, resolvePlain);
  if (scope?.kind === "text") return resolveText(scope.text, context, withHoles(scope.values));
  requireFilter(scope, context.table);
  return scope;
}

/** What a comparison means once its column and its operator are known. */
type ResolveComparison = (
  syntax: ComparisonSyntax,
  column: ColumnInfo,
  operator: Operator,
) => Filter;

function resolve(
  syntax: FilterSyntax,
  context: FilterContext,
  toFilter: ResolveComparison,
): Filter {
  if (syntax.kind === "compare") {
    const { path, column, operators } = findColumn(syntax, context);
    const filter = toFilter(syntax, column, findOperator(syntax, operators));
    return path.reduceRight<Filter>((inner, relation) => related(relation, inner), filter);
  }
  const terms = syntax.terms.map((term) => resolve(term, context, toFilter));
  return syntax.kind === "and" ? and(...terms) : or(...terms);
}

function resolveText(
  text: string,
  context: ScopeContext,
  toFilter: ResolveComparison,
): Filter {
  const { table, filters } = context;
  try {
    const syntax = filters.parse(text);
    return syntax === null ? noRows : resolve(syntax, everything(table, context), toFilter);
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause;
    throw new Error(`Cannot use a scope of "${table.name}": ${cause.message}`, { cause });
  }
}

/** Every column and every relation: a scope is the deployer's. */
function everything(table: TableInfo, context: ScopeContext): FilterContext {
  return {
    table,
    operators: context.operators,
    mayFilter: () => true,
    follow(name) {
      const relation = context.relation(table, name);
      return relation === undefined
        ? null
        : { relation, target: everything(relation.target, context) };
    },
  };
}

/**
 * A comparison of a plain text. Where a value of the user was missing, a template has written
 * `undefined` or `null` in its place: that denies, as it does from code.
 */
function resolvePlain(syntax: ComparisonSyntax, column: ColumnInfo, operator: Operator): Filter {
  const isMissing = (literal: Literal) => literal.text === "undefined" || isNullWord(literal);
  return syntax.values.some(isMissing) ? noRows : resolveComparison(syntax, column, operator);
}

function withHoles(values: readonly unknown[]): ResolveComparison {
  return (syntax, column, operator) =>
    syntax.values.some((literal) => literal.text.includes(hole))
      ? resolveHoles(syntax, column, operator, values)
      : resolveComparison(syntax, column, operator);
}

/** A comparison of {@link rsql}: values from code take the places of the holes. */
function resolveHoles(
  syntax: ComparisonSyntax,
  column: ColumnInfo,
  operator: Operator,
  given: readonly unknown[],
): Filter {
  const { takes } = operator;
  const takesMany = takes === "list" || takes === "pair" || takes === "texts";
  const values = syntax.values.flatMap((literal) => {
    const value = isNullWord(literal) ? null : fillHole(literal, given);
    return takesMany && Array.isArray(value) ? value : [value];
  });
  if (!takesMany) requireShape(syntax, operator);
  if (!operator.accepts(column.kind)) throw misfit(syntax, column);
  return compare(operator, column, values);
}

function fillHole({ text, quoted }: Literal, given: readonly unknown[]): unknown {
  if (!text.includes(hole)) return text;
  const index = text.slice(hole.length);
  if (quoted || !text.startsWith(hole) || !/^\d+$/.test(index)) {
    throw new Error("Cannot build the filter: a value stands inside quotes or in part of a word");
  }
  return given[Number(index)];
}

/** What a scope answers is the work of somebody's code, and may be anything that its type denies. */
function requireFilter(filter: Filter, table: TableInfo): void {
  switch (filter?.kind) {
    case "all":
    case "none":
      return;
    case "and":
    case "or":
      for (const term of filter.terms) requireFilter(term, table);
      return;
    case "compare": {
      const { name } = filter.column;
      if (table.columns.includes(filter.column)) return;
      throw new Error(`Cannot use a scope of "${table.name}": "${name}" is another table's column`);
    }
    case "related":
      if (filter.relation.owner === table) {
        return requireFilter(filter.filter, filter.relation.target);
      }
      throw new Error(
        `Cannot use a scope of "${table.name}": "${filter.relation.name}" is another table's relation`,
      );
    default: {
      const never: never = filter;
      throw new Error(
        `Cannot use the scope of "${table.name}": it answered ${shown(never)}, not a filter`,
      );
    }
  }
}

function resolveComparison(
  syntax: ComparisonSyntax,
  column: ColumnInfo,
  operator: Operator,
): Filter {
  // `==null` fits every kind, because it asks for NULL.
  if (operator.nullMeans !== null && !syntax.list && isNullWord(syntax.values[0])) {
    return nullTest(column, operator.nullMeans);
  }
  if (!operator.accepts(column.kind)) throw misfit(syntax, column);
  requireShape(syntax, operator);
  const values = syntax.values.map((literal) => readLiteral(literal, operator, column));
  return comparison(operator, column, values);
}

/** The column that a name leads to, the relations on its way, and the operators at its end. */
interface FoundColumn {
  readonly path: readonly Relation[];
  readonly column: ColumnInfo;
  readonly operators: Operators;
}

function findColumn({ field, fieldAt }: ComparisonSyntax, context: FilterContext): FoundColumn {
  const found = ownColumn(field, [], context) ?? walkPath(field, context);
  if (found !== null) return found;
  // Word for word the same for unknown and forbidden names: nobody learns which ones exist.
  throw filterError(
    fieldAt,
    "a field that may be filtered by",
    `Cannot filter by the field at ${fieldAt}: there is none of this name to filter by`,
  );
}

/** `project.owner.name` → the relations `project` and `owner`, and the column `name`. */
function walkPath(field: string, context: FilterContext): FoundColumn | null {
  const names = field.split(".");
  const last = names.pop() ?? "";
  if (names.length === 0) return null;
  const path: Relation[] = [];
  let here = context;
  for (const name of names) {
    const followed = here.follow?.(name) ?? null;
    if (followed === null) return null;
    path.push(followed.relation);
    here = followed.target;
  }
  return ownColumn(last, path, here);
}

function ownColumn(
  name: string,
  path: readonly Relation[],
  { table, operators, mayFilter }: FilterContext,
): FoundColumn | null {
  const column = table.byName.get(name);
  return column === undefined || !mayFilter(column) ? null : { path, column, operators };
}

/** Nothing related passes `none`, and a filter of `all` still asks for a related row. */
function related(relation: Relation, filter: Filter): Filter {
  return filter.kind === "none" ? noRows : { kind: "related", relation, filter, links: allRows };
}

function findOperator(
  { operator: symbol, operatorAt }: ComparisonSyntax,
  operators: Operators,
): Operator {
  const operator = operators.get(symbol);
  if (operator !== undefined) return operator;
  throw filterError(
    operatorAt,
    "a known operator",
    `Cannot read the filter at ${operatorAt}: unknown operator ${excerpt(symbol)}`,
  );
}

function misfit({ operator, operatorAt }: ComparisonSyntax, { name, kind }: ColumnInfo): Error {
  return filterError(
    operatorAt,
    `an operator for the kind ${kind}`,
    `Cannot filter by ${excerpt(name)}: ${excerpt(operator)} does not fit its kind, ${kind}`,
  );
}

function requireShape({ list, values, valuesAt }: ComparisonSyntax, { takes }: Operator): void {
  if (takes === "list" || takes === "texts") return;
  if (takes === "pair" ? values.length === 2 : !list) return;
  const expected = takes === "pair" ? "exactly two values" : "one value";
  throw filterError(
    valuesAt,
    expected,
    `Cannot read the filter at ${valuesAt}: the operator takes ${expected}`,
  );
}

function isNullWord(literal: Literal | undefined): boolean {
  return literal !== undefined && !literal.quoted && literal.text === "null";
}

function readLiteral(literal: Literal, operator: Operator, column: ColumnInfo): unknown {
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
    `Cannot filter by ${excerpt(column.name)}: ${excerpt(text)} ${message}${hint}`,
  );
}
