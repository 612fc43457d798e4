import { type AggregateGroup, fetchGroups } from "../../db/aggregate_groups.ts";
import { allRows, and, type Filter } from "../../filter/filter.ts";
import type { AggregatePlan } from "../../plan/plan.ts";
import { catching } from "../../runtime/maybe_promise.ts";
import type { Row } from "../../schema/table_info.ts";
import { limitedReply } from "../http/json_reply.ts";
import {
  asResponseTooLarge,
  estimateGroupBytes,
  groupsPart,
} from "../http/response_byte_budget.ts";
import { type AggregateQuery, parseAggregateQuery } from "../read/aggregate_query.ts";
import { responseReadConnection } from "../read/limited_reads.ts";
import type { Operation } from "../model/operation.ts";
import type { RelationFilter } from "../shape/output.ts";
import { presentGroups } from "../shape/present_groups.ts";
import type { Resource } from "../model/resource.ts";
import { parseQueryFilter, parseUserFilter } from "../read/user_filter.ts";
import { canonicalFilterText } from "../../filter/canonical_filter.ts";
import type { LiveHub } from "../../live/live_hub.ts";
import type { LiveAggregateQuery } from "../../live/aggregate/incremental_aggregate.ts";
import { noRowsShown } from "../../live/live_view.ts";
import { printOrder } from "../../plan/order.ts";
import type { Query } from "../http/query_parameters.ts";
import {
  hubOf,
  openStream,
  requireStoredColumns,
  type StreamBody,
  streamReply,
} from "../live/live_hubs.ts";

interface AggregateIntent {
  readonly filter: RelationFilter;
  readonly question: AggregateQuery;
}

export const aggregate: Operation<AggregateIntent, AggregatePlan, readonly AggregateGroup[]> = {
  name: "aggregate",
  access: "read",
  takesBody: false,

  parse({ query }, resource) {
    return {
      filter: parseQueryFilter(query, resource),
      question: parseAggregateQuery(query, resource),
    };
  },

  readsFrom({ filter }) {
    return filter.reached;
  },

  plan({ filter, question }, grant, resource, { related }) {
    const where = and(grant.rows, filter.restrictTo(related), resource.undeleted);
    return { ...planAggregate(question, resource), where };
  },

  execute(plan, call) {
    const { reader, readCosts } = call.resource;
    return catching(() => fetchGroups(responseReadConnection(call), plan, reader), (error) => {
      throw asResponseTooLarge(error, readCosts.maxAnswerBytes, groupsPart);
    });
  },

  shape(groups, { question }, resource) {
    return limitedReply(200, aggregateResponse(groups, question, resource), {
      limit: resource.readCosts.maxAnswerBytes,
      counted: estimateGroupBytes(groups),
      part: groupsPart,
    });
  },
};

export function planAggregate(
  { keys, metrics, furtherMetrics, having, order, limit }: AggregateQuery,
  { table }: Pick<Resource, "table">,
): Omit<AggregatePlan, "where"> {
  return {
    kind: "aggregate",
    table,
    keys,
    metrics: [...metrics, ...furtherMetrics],
    having,
    order,
    limit: limit + 1,
  };
}

export function aggregateResponse(
  groups: readonly AggregateGroup[],
  { keys, metrics, limit }: AggregateQuery,
  { fields: { selectable: readable }, safeNumbers }: Pick<Resource, "fields" | "safeNumbers">,
): { readonly groups: readonly Row[]; readonly hasMore: boolean } {
  return {
    groups: presentGroups(groups.slice(0, limit), { keys, metrics, readable, safeNumbers }),
    hasMore: groups.length > limit,
  };
}

interface SubscribeIntent {
  readonly filter: Filter;
  readonly aggregateQuery: LiveAggregateQuery;
}

interface SubscribePlan extends SubscribeIntent {
  readonly hub: LiveHub;
  readonly scope: Filter;
}

/** `GET /aggregate/subscribe`: sends an aggregate's result, and sends it again when it changes. */
export const subscribeAggregate: Operation<SubscribeIntent, SubscribePlan, StreamBody> = {
  name: "subscribe-aggregate",
  access: "subscribe",
  takesBody: false,

  parse({ query }, resource) {
    const filter = parseUserFilter(query.get("filter"), resource) ?? allRows;
    const aggregateQuery = parseLiveAggregateQuery(query, resource);
    const { keys, metrics } = aggregateQuery.plan;
    requireStoredColumns([...keys, ...metrics].flatMap(({ column }) => column ?? []), filter);
    return { filter: and(filter, resource.undeleted), aggregateQuery };
  },

  plan(intent, grant, resource) {
    return { ...intent, hub: hubOf(resource), scope: grant.rows };
  },

  execute({ hub, ...plan }, call) {
    return openStream(
      call,
      (caller) => hub.subscribeAggregate({ ...plan, ...caller, view: noRowsShown }),
    );
  },

  shape: streamReply,
};

export function parseLiveAggregateQuery(
  query: Query,
  resource: Pick<Resource, "table" | "groups" | "filters" | "fields" | "safeNumbers">,
): LiveAggregateQuery {
  const question = parseAggregateQuery(query, resource);
  const { keys, metrics, having, order, limit } = question;
  return {
    key: JSON.stringify([
      keys.map(({ as }) => as.dbName),
      metrics.map(({ as }) => as.dbName),
      canonicalFilterText(having),
      printOrder(order),
      limit,
      resource.safeNumbers,
    ]),
    plan: planAggregate(question, resource),
    groups: resource.groups,
    present: (groups) => aggregateResponse(groups, question, resource),
  };
}
