import { canonicalFilterText } from "../../filter/canonical_filter.ts";
import { allRows, and, type Filter } from "../../filter/filter.ts";
import type { LiveHub } from "../../live/live_hub.ts";
import type { LiveAggregateQuery } from "../../live/aggregate/incremental_aggregate.ts";
import { noRowsShown } from "../../live/live_view.ts";
import { printOrder } from "../../plan/order.ts";
import { aggregateResponse, planAggregate } from "./aggregate.ts";
import { parseAggregateQuery } from "../read/aggregate_query.ts";
import type { Operation } from "../model/operation.ts";
import type { Query } from "../http/query_parameters.ts";
import type { Resource } from "../model/resource.ts";
import { hubOf, openStream, type StreamBody, streamReply } from "../live/live_hubs.ts";
import { parseUserFilter } from "../read/user_filter.ts";

interface SubscribeIntent {
  /** The filter of the request, in addition to the scope. */
  readonly filter: Filter;
  readonly aggregateQuery: LiveAggregateQuery;
}

interface SubscribePlan extends SubscribeIntent {
  readonly hub: LiveHub;
  readonly scope: Filter;
}

/** `GET /aggregate/subscribe`: sends the result of an aggregate, and each new result. */
export const subscribeAggregate: Operation<SubscribeIntent, SubscribePlan, StreamBody> = {
  name: "subscribe-aggregate",
  access: "subscribe",
  takesBody: false,

  parse({ query }, resource) {
    return {
      filter: and(parseUserFilter(query.get("filter"), resource) ?? allRows, resource.undeleted),
      aggregateQuery: parseLiveAggregateQuery(query, resource),
    };
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

/** Parses the query of `GET /aggregate/subscribe`, without its filter. Throws a 400. */
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
