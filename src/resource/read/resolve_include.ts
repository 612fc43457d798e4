import { excerptOf } from "../../filter/syntax/filter_error.ts";
import { type IncludeSyntax, parseInclude } from "../../plan/parse_include.ts";
import { parseOrder } from "../../plan/order.ts";
import { parseLimit } from "../http/query_parameters.ts";
import { parseMetrics } from "./aggregate_query.ts";
import { didYouMean } from "../../problem/nearest_name.ts";
import { invalidParameter, Problem } from "../../problem/problem.ts";
import type { Relation } from "../../schema/relation.ts";
import { noResources, resourcesReadByRelation } from "../rights/related_grants.ts";
import { type Include, noIncludes, type RelationFilter, viewOf } from "../shape/output.ts";
import type { Resource } from "../model/resource.ts";
import { parseRelationFilter } from "./user_filter.ts";

export function resolveInclude(text: string | undefined, resource: Resource): readonly Include[] {
  return text === undefined || text === ""
    ? noIncludes
    : resolveAll(parseInclude(text), resource, "");
}

export function resourcesReadByIncludes(includes: readonly Include[]): ReadonlySet<Resource> {
  if (includes.length === 0) return noResources;
  return new Set(
    includes.flatMap(({ relation, target, filter, view }) => [
      ...resourcesReadByRelation(relation, target),
      ...filter.reached,
      ...resourcesReadByIncludes(view.include),
    ]),
  );
}

export function includeWithoutOptions(
  relation: Relation,
  target: Resource,
  include: readonly Include[],
): Include {
  const plain: IncludeSyntax = { name: relation.name, options: new Map(), include: [] };
  const { view, ...one } = resolveOne(plain, relation, target, relation.name);
  return { ...one, view: { ...view, include } };
}

const maxPerRow = 100;
const noMetrics: Include["metrics"] = Object.freeze([]);

function resolveAll(
  items: readonly IncludeSyntax[],
  resource: Resource,
  above: string,
): readonly Include[] {
  return items.map((item) => {
    const relation = resource.relations.get(item.name);
    const target = relation === undefined ? undefined : resource.served.get(relation.target);
    if (relation === undefined || target === undefined) throw unknownRelation(item.name, resource);
    if (item.isAggregate) return resolveAggregate(item, relation, target, above + item.name);
    return resolveOne(item, relation, target, above + item.name);
  });
}

/** The error can suggest any name, because API descriptions list the relations. */
function unknownRelation(name: string, { relations, served }: Resource): Problem {
  const known = [...relations.values()].filter(({ target }) => served.get(target) !== undefined);
  const hint = didYouMean(name, known.map((relation) => relation.name));
  return invalidParameter(
    `Cannot include ${excerptOf(name)}: there is no relation of this name${hint}`,
  );
}

function resolveOne(
  { options, include }: IncludeSyntax,
  relation: Relation,
  target: Resource,
  path: string,
): Include {
  const { table, fields, page } = target;
  const limit = parseLimit(options.get("limit") ?? null, {
    defaultLimit: Math.min(maxPerRow, page.maxLimit),
    maxLimit: page.maxLimit,
  });
  return {
    relation,
    target,
    filter: parseFilter(options.get("filter"), target, path),
    order: parseOrder(options.get("orderBy") ?? null, table, fields),
    limit: relation.toMany ? limit : 1,
    metrics: noMetrics,
    view: viewOf(target, options.get("select"), resolveAll(include, target, `${path}.`)),
  };
}

function resolveAggregate(
  item: IncludeSyntax,
  relation: Relation,
  target: Resource,
  path: string,
): Include {
  const isServed = target.capabilities.enableAggregations;
  if (!relation.toMany || !isServed) {
    const reason = isServed ? "it leads to one row" : "aggregates of its rows are disabled";
    throw invalidParameter(`Cannot include metrics of ${excerptOf(item.name)}: ${reason}`);
  }
  const metrics = parseMetrics(item.options, target.groups);
  return { ...resolveOne(item, relation, target, path), limit: 1, metrics };
}

function parseFilter(text: string | undefined, target: Resource, path: string): RelationFilter {
  try {
    return parseRelationFilter(text, target);
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause;
    throw new Problem(cause.slug, `In the filter of include ${path}: ${cause.message}`, {
      cause,
      details: { ...cause.details, include: path },
    });
  }
}
