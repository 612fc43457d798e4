import { Problem } from "../problem/problem.ts";
import type { Observer } from "../runtime/runtime.ts";
import type { Relations } from "../schema/relation.ts";
import type { TableInfo } from "../schema/table_info.ts";
import { type Filter, missingRows, noRows, termsOnSameRow, withoutMissing } from "./filter.ts";
import type { Operator } from "./operators/operator.ts";
import { type ComparedField, resolveComparison } from "./resolve_comparison.ts";
import { type FilterContext, resolveFilterWith, unknownField } from "./resolve_filter.ts";
import { filterOfRule, type OnTemplate, type Rule } from "./rule.ts";
import { notFilter, RuleFault } from "./rule_fault.ts";
import { separateRows } from "./separate_rows.ts";
import type { CachingFilterParser } from "./syntax/caching_filter_parser.ts";
import type { ComparisonSyntax, Literal } from "./syntax/filter_syntax.ts";

export interface ScopeContext extends Pick<FilterContext, "table" | "operators"> {
  readonly filters: CachingFilterParser;
  relationsOf(table: TableInfo): Relations;
}

export type ScopeResolver = (scope: Rule | string, name: string) => Filter;

/**
 * Creates the function that resolves the scopes of one table to filters. The function reports the
 * first scope that is a plain string. It also reports a template, once, if two different related
 * rows can match two conditions that the author probably means for one row.
 */
export function createScopeResolver(context: ScopeContext, observe: Observer): ScopeResolver {
  let isObserved = false;
  const examined = new Set<string>();
  return function resolveScope(scope, name) {
    if (!isObserved && typeof scope === "string" && scope !== "") {
      isObserved = true;
      const message = `a scope of "${context.table.label}" answered plain text: ` +
        "use eq() or rsql, where a value is never read as syntax";
      observe({ kind: "notice", message });
    }
    return resolveScopeFilter(scope, context, (syntax, there, text) => {
      const key = `${name} ${text}`;
      if (examined.size === maxExamined || examined.has(key)) return;
      examined.add(key);
      const separate = separateRows(syntax, there);
      if (separate === null) return;
      observe({ kind: "notice", message: `${name} of "${context.table.label}" ${separate}` });
    });
  };
}

/** The maximum number of templates that are examined for a table, because all are kept in a set. */
const maxExamined = 200;

/** Resolves a scope. An empty string matches no row. Throws a plain Error for an invalid scope. */
export function resolveScopeFilter(
  scope: Rule | string,
  context: ScopeContext,
  onTemplate?: OnTemplate,
): Filter {
  const { table, filters } = context;
  try {
    // Most scopes are resolved filters, which need no context.
    if (typeof scope !== "string" && scope?.kind !== "text" && scope?.kind !== "draft") {
      requireFilter(scope, table);
      return withoutMissing(scope);
    }
    const there = everything(table, context);
    if (typeof scope === "string") {
      const syntax = filters.parse(scope);
      return withoutMissing(
        syntax === null ? noRows : resolveFilterWith(syntax, there, resolvePlain),
      );
    }
    const filter = filterOfRule(scope, there, filters, onTemplate);
    requireFilter(filter, table);
    return withoutMissing(filter);
  } catch (cause) {
    if (!(cause instanceof Problem || cause instanceof RuleFault)) throw cause;
    throw new RuleFault(`Cannot use a scope of "${table.label}": ${cause.message}`, { cause });
  }
}

/** Returns a context that allows every relation and stored column: scopes are not user input. */
function everything(table: TableInfo, context: ScopeContext): FilterContext {
  const relations = context.relationsOf(table);
  return {
    table,
    operators: context.operators,
    mayFilter: ({ rowFunction }) => rowFunction === undefined,
    readable: table.columns,
    follow(name) {
      const relation = relations.get(name);
      return relation === undefined
        ? null
        : { relation, target: everything(relation.target, context) };
    },
    relationNames: () => [...relations.keys()],
  };
}

/** A missing property of the user becomes `undefined` or `null` in a string, and matches no row. */
function resolvePlain(syntax: ComparisonSyntax, field: ComparedField, operator: Operator): Filter {
  // The word also counts in quotes, because code can put quotes around every interpolated value.
  const isMissing = ({ text }: Literal) => text === "undefined" || text === "null";
  return syntax.values.some(isMissing) ? missingRows : resolveComparison(syntax, field, operator);
}

export function requireFilter(
  filter: Filter,
  table: TableInfo,
  user: FilterContext | null = null,
): void {
  switch (filter?.kind) {
    case "all":
    case "none":
      return;
    case "and":
    case "or":
    case "not":
      for (const term of termsOnSameRow(filter)) requireFilter(term, table, user);
      return;
    case "compare": {
      const { column } = filter;
      const isOwn = table.columns.includes(column) ||
        user !== null && table.functionColumns.includes(column);
      if (!isOwn) {
        throw new RuleFault(
          `"${column.name}" is another table's column: use columns of "${table.label}" or a relation`,
        );
      }
      if (user?.mayFilter(column) === false) throw unknownField([column.name], 0, user);
      return;
    }
    case "related": {
      const { owner, name, target } = filter.relation;
      if (owner !== table) throw new RuleFault(`"${name}" is another table's relation`);
      if (user === null) return requireFilter(filter.filter, target);
      const next = user.follow?.(name) ?? null;
      if (next === null) throw unknownField([name], 0, user);
      return requireFilter(filter.filter, next.target.table, next.target);
    }
    default: {
      const never: never = filter;
      throw notFilter(never);
    }
  }
}
