import { Problem } from "../problem/problem.ts";
import { showValue } from "../problem/show_value.ts";
import type { Observer } from "../runtime/observation.ts";
import type { Relation } from "../schema/relation.ts";
import type { TableInfo } from "../schema/table_info.ts";
import type { FilterText } from "./builders.ts";
import { failClosedComparison } from "./operators/fail_closed_comparison.ts";
import { type Filter, noRows } from "./filter.ts";
import { fitsDocumentPaths } from "./operators/path_comparison.ts";
import type { Operator } from "./operators/operator.ts";
import type { CachingFilterParser } from "./syntax/caching_filter_parser.ts";
import {
  type ComparedField,
  isNullWord,
  operatorMismatch,
  requireValueCount,
  resolveComparison,
} from "./resolve_comparison.ts";
import { type FilterContext, type ResolveComparison, resolveFilterWith } from "./resolve_filter.ts";
import type { ComparisonSyntax, FilterSyntax, Literal } from "./syntax/filter_syntax.ts";
import { parseTemplate, templateValueIndex } from "./template_syntax.ts";

/** The context in which a scope is resolved. A scope may use every column. */
export interface ScopeContext extends Pick<FilterContext, "table" | "operators"> {
  readonly filters: CachingFilterParser;
  /** Returns the relation that has this name and starts at the table. */
  relation(table: TableInfo, name: string): Relation | undefined;
}

/**
 * Creates the function that resolves the scopes of one table to filters. The function reports only
 * the first scope that returns plain text, because scopes run with every request.
 */
export function createScopeResolver(
  context: ScopeContext,
  observe: Observer,
): (scope: Filter | FilterText | string) => Filter {
  let isObserved = false;
  return function resolveScope(scope) {
    if (!isObserved && typeof scope === "string" && scope !== "") {
      isObserved = true;
      const message = `a scope of "${context.table.label}" answered plain text: ` +
        "use eq() or rsql, where a value is never read as syntax";
      observe({ kind: "deprecated", message });
    }
    return resolveScopeFilter(scope, context);
  };
}

/**
 * Resolves the result of a scope function to a filter. An empty string matches nothing. Throws a
 * plain Error, because the mistake is in the configuration, for a string that does not parse, for
 * columns of another table and for a value that is not a filter.
 */
export function resolveScopeFilter(
  scope: Filter | FilterText | string,
  context: ScopeContext,
): Filter {
  if (typeof scope === "string") {
    return resolveText((filters) => filters.parse(scope), context, resolvePlain);
  }
  if (scope?.kind === "text") {
    return resolveText(
      (filters) => parseTemplate(scope, filters),
      context,
      createPlaceholderResolver(scope.values),
    );
  }
  requireFilter(scope, context.table);
  return scope;
}

function resolveText(
  parse: (filters: CachingFilterParser) => FilterSyntax | null,
  context: ScopeContext,
  toFilter: ResolveComparison,
): Filter {
  const { table, filters } = context;
  try {
    const syntax = parse(filters);
    return syntax === null
      ? noRows
      : resolveFilterWith(syntax, everything(table, context), toFilter);
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause;
    throw new Error(`Cannot use a scope of "${table.label}": ${cause.message}`, { cause });
  }
}

/** Returns a context with every column and relation, because the deployer writes scopes. */
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
 * Resolves a comparison of a plain string. A template writes `undefined` or `null` for a missing
 * value of the user. Such a comparison matches nothing, as in code.
 */
function resolvePlain(syntax: ComparisonSyntax, field: ComparedField, operator: Operator): Filter {
  // Quotes are ignored here, because the template may have added the quotes.
  const isMissing = ({ text }: Literal) => text === "undefined" || text === "null";
  return syntax.values.some(isMissing) ? noRows : resolveComparison(syntax, field, operator);
}

/** Resolves the comparisons of a template, in which `values` replace the placeholders. */
export function createPlaceholderResolver(values: readonly unknown[]): ResolveComparison {
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
  const takesMany = ["list", "pair", "items", "texts"].includes(takes);
  const values = syntax.values.flatMap((literal) => {
    const index = templateValueIndex(literal);
    const value = index !== null ? given[index] : isNullWord(literal) ? null : literal.text;
    return takesMany && Array.isArray(value) ? value : [value];
  });
  if (!takesMany) requireValueCount(syntax, operator);
  if (path === null ? !operator.accepts(column) : !fitsDocumentPaths(operator)) {
    throw operatorMismatch(syntax, column);
  }
  return failClosedComparison(operator, column, values, path);
}

/** Requires a filter, because the program's function may return values that its type forbids. */
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
      throw new Error(
        `Cannot use a scope of "${table.label}": "${name}" is another table's column`,
      );
    }
    case "related":
      if (filter.relation.owner === table) {
        return requireFilter(filter.filter, filter.relation.target);
      }
      throw new Error(
        `Cannot use a scope of "${table.label}": "${filter.relation.name}" is another table's relation`,
      );
    default: {
      const never: never = filter;
      throw new Error(
        `Cannot use the scope of "${table.label}": it answered ${showValue(never)}, not a filter`,
      );
    }
  }
}
