import type { Relation } from "../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import { allRows, and, type Filter, noRows, or } from "./filter.ts";
import { excerptOf, filterError } from "./syntax/filter_error.ts";
import type { Operator } from "./operators/operator.ts";
import type { OperatorRegistry } from "./operators/operator_registry.ts";
import { resolveComparison } from "./resolve_comparison.ts";
import type { ComparisonSyntax, FilterSyntax } from "./syntax/filter_syntax.ts";

/** The names and symbols that a filter's text may use. */
export interface FilterContext {
  readonly table: TableInfo;
  readonly operators: OperatorRegistry;
  /** Whether a column may be filtered by. One that may not is treated like an unknown one. */
  mayFilter(column: ColumnInfo): boolean;
  /** The relation of a dotted name; null for an unknown one. Absent where no relation is allowed. */
  follow?(name: string): FilterableRelation | null;
}

/** A relation that a filter may follow, and the context at its target. */
export interface FilterableRelation {
  readonly relation: Relation;
  readonly target: FilterContext;
}

/**
 * Resolves a filter: names become columns, values get the type of their column. Throws a
 * {@link Problem} `filter-parse-error` at the first name, operator or value that cannot be resolved.
 */
export function resolveFilter(syntax: FilterSyntax, context: FilterContext): Filter {
  return resolveFilterWith(syntax, context, resolveComparison);
}

/** Resolves a comparison whose column and operator are known. */
export type ResolveComparison = (
  syntax: ComparisonSyntax,
  column: ColumnInfo,
  operator: Operator,
) => Filter;

/** {@link resolveFilter} with a custom resolution of comparisons. */
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

function findColumn({ field, fieldAt }: ComparisonSyntax, context: FilterContext): FoundColumn {
  const found = ownColumn(field, [], context) ?? walkPath(field, context);
  if (found !== null) return found;
  // The same message for unknown and forbidden names, so that it does not reveal which exist.
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
