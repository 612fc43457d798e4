import type { Grant } from "../../auth/authorize.ts";
import {
  allRows,
  and,
  type Comparison,
  type Filter,
  noRows,
  not,
  or,
  termsOnSameRow,
  withoutMissing,
} from "../../filter/filter.ts";
import { filterTooLarge } from "../../filter/syntax/filter_error.ts";
import { resolveComparison } from "../../filter/resolve_comparison.ts";
import { filterOfRule, filterOfTemplate, type Rule } from "../../filter/rule.ts";
import {
  type FilterContext,
  resolveFilter,
  resolveFilterWith,
} from "../../filter/resolve_filter.ts";
import {
  type ComparisonSyntax,
  filterLengthsInBody,
  filterLimits,
  type FilterSyntax,
  termsOfSyntax,
} from "../../filter/syntax/filter_syntax.ts";
import { parseFilter } from "../../filter/syntax/parse_filter.ts";
import { unreachable } from "../../problem/unreachable.ts";
import type { Relation } from "../../schema/relation.ts";
import {
  noResources,
  readableLinksFilter,
  resourcesReadByRelation,
} from "../rights/related_grants.ts";
import type { Resource } from "../model/resource.ts";
import type { Query } from "../http/query_parameters.ts";
import type { RelationFilter } from "../shape/output.ts";
import { requireFilter } from "../../filter/resolve_scope_filter.ts";
import type { CachingFilterParser } from "../../filter/syntax/caching_filter_parser.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";

export function parseUserFilter(text: string | undefined, resource: Resource): Filter | null {
  const syntax = text === undefined ? null : resource.filters.parse(text);
  return syntax === null ? null : resolveFilter(syntax, ownColumns(resource));
}

/** Parses a batch's filter, which can be longer than in a URL because it is in the body. */
export function parseBodyFilter(text: string, resource: Resource): Filter | null {
  const syntax = parseFilter(text, filterLengthsInBody);
  return syntax === null ? null : resolveFilter(syntax, ownColumns(resource));
}

export function resolveBuiltFilter(given: Rule, resource: Resource): Filter | null {
  return resolveCodeFilter(given, ownColumns(resource), resource.filters);
}

export interface PositionedComparison {
  readonly syntax: ComparisonSyntax;
  readonly comparison: Comparison;
}

/** Returns the comparisons in a user's filter, in their order, without the tests for NULL. */
export function comparisonsOf(text: string, resource: Resource): readonly PositionedComparison[] {
  const parsed = parseFilter(text, filterLengthsInBody);
  const found: PositionedComparison[] = [];
  if (parsed === null) return found;
  resolveFilterWith(parsed, columnsInReach(resource, maxSteps), (syntax, column, operator) => {
    const filter = resolveComparison(syntax, column, operator);
    if (filter.kind === "compare") found.push({ syntax, comparison: filter });
    return filter;
  });
  return found;
}

export function parseQueryFilter(query: Query, resource: Resource): RelationFilter {
  const { codeFilter, isInBody } = query;
  if (codeFilter === undefined) {
    const text = query.get("filter");
    if (isInBody !== true) return parseRelationFilter(text, resource);
    return resolvedFilter(parseFilter(text ?? "", filterLengthsInBody), resource);
  }
  const context = columnsInReach(resource, maxSteps);
  const filter = resolveCodeFilter(codeFilter, context, resource.filters);
  return filter === null ? everyRow : relationFilterOf(filter, resource, () => {});
}

export function parseRelationFilter(text: string | undefined, resource: Resource): RelationFilter {
  return resolvedFilter(text === undefined ? null : resource.filters.parse(text), resource);
}

function resolvedFilter(syntax: FilterSyntax | null, resource: Resource): RelationFilter {
  if (syntax === null) return everyRow;
  const filter = resolveFilter(syntax, columnsInReach(resource, maxSteps));
  return relationFilterOf(filter, resource, () => requireFewWalks(syntax, resource));
}

function relationFilterOf(
  filter: Filter,
  resource: Resource,
  checkWalks: () => void,
): RelationFilter {
  const reached = new Set<Resource>();
  collectReached(filter, resource, reached);
  if (reached.size > 0) checkWalks();
  return {
    reached,
    unrestricted: filter,
    restrictTo: (related) =>
      reached.size === 0 ? filter : restricted(filter, { resource, related, looksOnce: true }),
  };
}

const everyRow: RelationFilter = Object.freeze({ reached: noResources, restrictTo: () => allRows });

/** The maximum number of relations in a dotted name. Each relation adds a subquery. */
const maxSteps = 3;

function ownColumns({ table, operators, fields, safeNumbers }: Resource): FilterContext {
  return {
    table,
    safeNumbers,
    operators,
    mayFilter: (column) => fields.filterable.has(column),
    readable: fields.selectable,
  };
}

function columnsInReach(resource: Resource, steps: number): FilterContext {
  return {
    ...ownColumns(resource),
    follow(name) {
      const relation = resource.relations.get(name);
      if (steps === 0 || relation?.filterable !== true) return null;
      const target = resource.served.get(relation.target);
      return target === undefined ? null : { relation, target: columnsInReach(target, steps - 1) };
    },
    relationNames: () =>
      steps === 0
        ? []
        : [...resource.relations.values()].flatMap(({ name, filterable, target }) =>
          filterable && resource.served.get(target) !== undefined ? [name] : []
        ),
  };
}

function collectReached(filter: Filter, resource: Resource, reached: Set<Resource>): void {
  for (const term of termsOnSameRow(filter)) collectReached(term, resource, reached);
  if (filter.kind !== "related") return;
  for (const one of resourcesReadByRelation(filter.relation, resource)) reached.add(one);
  collectReached(filter.filter, targetOf(filter.relation, resource), reached);
}

function requireFewWalks(syntax: FilterSyntax, resource: Resource): void {
  const excess = walksIn(syntax, resource)[filterLimits.walks];
  if (excess === undefined) return;
  throw filterTooLarge(excess, `${filterLimits.walks} comparisons that walk relations`);
}

function walksIn(syntax: FilterSyntax, resource: Resource | undefined): readonly number[] {
  if ("path" in syntax && "term" in syntax) {
    const target = syntax.path.reduce<Resource | undefined>((here, name) => {
      const relation = here?.relations.get(name);
      return relation === undefined ? undefined : here?.served.get(relation.target);
    }, resource);
    return [syntax.pathAt, ...walksIn(syntax.term, target)];
  }
  if (syntax.kind !== "compare") {
    return termsOfSyntax(syntax).flatMap((term) => walksIn(term, resource));
  }
  const { field, path, fieldAt } = syntax;
  const isWalk = path === undefined
    ? !resource?.table.byName.has(field) && resource?.relations.has(field.split(".", 1).join())
    : path.length > 1 && resource?.relations.has(path[0] ?? "");
  return isWalk === true ? [fieldAt] : [];
}

interface Place {
  readonly resource: Resource;
  readonly related: ReadonlyMap<Resource, Grant>;
  /** True if the database examines each row of the resource at most once. */
  readonly looksOnce: boolean;
}

function restricted(filter: Filter, place: Place): Filter {
  switch (filter.kind) {
    case "all":
    case "none":
    case "compare":
      return filter;
    case "and":
      return and(...filter.terms.map((term) => restricted(term, place)));
    case "or":
      return or(...filter.terms.map((term) => restricted(term, place)));
    case "not":
      return not(restricted(filter.term, place));
    case "related": {
      const { resource, related } = place;
      const { relation } = filter;
      const target = targetOf(relation, resource);
      const grant = related.get(target);
      if (grant === undefined) return noRows;
      const walk = planRelationEvaluation(relation, place.looksOnce, resource.isIndexed);
      const there = { resource: target, related, looksOnce: walk.looksOnce };
      const inner = and(restricted(filter.filter, there), grant.rows, target.undeleted);
      const links = readableLinksFilter(relation, resource, related);
      if (inner.kind === "none" || links.kind === "none") return noRows;
      return { ...filter, filter: inner, links, once: walk.isOnce };
    }
    default:
      return unreachable(filter);
  }
}

function targetOf(relation: Relation, resource: Resource): Resource {
  const target = resource.served.get(relation.target);
  if (target === undefined) throw new Error(`Nothing serves what "${relation.name}" leads to`);
  return target;
}

/** Throws a 400 for a field that the user may not use, and an Error for another table's column. */
function resolveCodeFilter(
  given: Rule,
  context: FilterContext,
  filters: CachingFilterParser,
): Filter | null {
  const resolve = (rule: Rule, there: FilterContext) => filterOfRule(rule, there, filters);
  const filter = given.kind === "text"
    ? filterOfTemplate(given, context, filters, { resolve })
    : resolve(given, context);
  if (filter === null) return null;
  requireFilter(filter, context.table, context);
  return withoutMissing(filter);
}

/**
 * Decides whether the database finds related rows for each row, or once for all rows (`isOnce`).
 * Separate searches are cheap if the related column is unique, or if each related row belongs to
 * only one row. Otherwise the costs multiply: `author.posts` in a filter of posts examines all
 * posts of an author for each post. `looksOnce` is true if the database examines each row (in the
 * result: each related row) at most once.
 */
function planRelationEvaluation(
  { owner, steps: [step, second] }: Relation,
  looksOnce: boolean,
  isIndexed: (column: ColumnInfo) => boolean,
) {
  const isOwned = looksOnce && isUnique(step.own, owner);
  const others = step.other;
  const isOnce = !isUnique(others, step.table) && !(isOwned && others.some(isIndexed));
  const looksOnceThere = isOnce || isOwned;
  return {
    isOnce,
    looksOnce: looksOnceThere && (second === undefined || isUnique(second.own, step.table)),
  };
}

function isUnique(columns: readonly ColumnInfo[], { primaryKey, distinct }: TableInfo): boolean {
  return columns.some(({ unique }) => unique) ||
    (distinct && primaryKey.every((column) => columns.includes(column)));
}
