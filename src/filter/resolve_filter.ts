import type { Relation } from "../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import { allRows, and, type Filter, noRows, or } from "./filter.ts";
import { excerptOf, filterError } from "./syntax/filter_error.ts";
import type { Operator } from "./operators/operator.ts";
import type { OperatorRegistry } from "./operators/operator_registry.ts";
import { resolveComparison } from "./resolve_comparison.ts";
import type { ComparisonSyntax, FilterSyntax } from "./syntax/filter_syntax.ts";

/** What names and symbols of a filter's text stand for. */
export interface FilterContext {
  readonly table: TableInfo;
  readonly operators: OperatorRegistry;
  /** Whether a column may be filtered by. One that may not is treated like one that is not there. */
  mayFilter(column: ColumnInfo): boolean;
  /** Where the relation of a dotted name leads, null where there is none; absent, none is walked. */
  follow?(name: string): FilterableRelation | null;
}

/** A relation that may be walked, and what names mean at its end. */
export interface FilterableRelation {
  readonly relation: Relation;
  readonly target: FilterContext;
}

/**
 * Gives a filter its meaning: names become columns, values get the type of their column. Throws
 * a {@link Problem} `filter-parse-error` at what has none.
 */
export function resolveFilter(syntax: FilterSyntax, context: FilterContext): Filter {
  return resolveFilterWith(syntax, context, resolveComparison);
}

/** What a comparison means once its column and its operator are known. */
export type ResolveComparison = (
  syntax: ComparisonSyntax,
  column: ColumnInfo,
  operator: Operator,
) => Filter;

/** The same, with a meaning of comparisons that the caller gives. */
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

/** The column that a name leads to, the relations on its way, and the operators at its end. */
interface FoundColumn {
  readonly path: readonly Relation[];
  readonly column: ColumnInfo;
  readonly operators: OperatorRegistry;
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
