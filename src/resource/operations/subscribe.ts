import { allRows, and, type Filter } from "../../filter/filter.ts";
import type { LiveHub } from "../../live/live_hub.ts";
import type { LiveView, WindowQuery } from "../../live/live_view.ts";
import { resolveInclude, resourcesReadByIncludes } from "../read/resolve_include.ts";
import { createLiveView } from "../live/create_live_view.ts";
import { requireSubscribableIncludes } from "../read/load_included.ts";
import type { Operation } from "../model/operation.ts";
import { type View, viewOf } from "../shape/output.ts";
import { invalidParameter, Problem } from "../../problem/problem.ts";
import { parseOrder } from "../../plan/order.ts";
import { parseFlag, parseLimit, type Query } from "../http/query_parameters.ts";
import type { Resource } from "../model/resource.ts";
import { softDeleteFilter } from "../read/list_query.ts";
import {
  hubOf,
  openStream,
  requireStoredColumns,
  type StreamBody,
  streamReply,
} from "../live/live_hubs.ts";
import { parseUserFilter } from "../read/user_filter.ts";

interface SubscribeIntent {
  readonly requested: Filter;
  /** The requested filter with the condition "not deleted". */
  readonly filter: Filter;
  readonly view: View;
  readonly resumeFrom: string | null;
  readonly skipExisting: boolean;
  readonly window: WindowQuery | null;
}

interface SubscribePlan extends Omit<SubscribeIntent, "view"> {
  readonly hub: LiveHub;
  readonly scope: Filter;
  readonly view: LiveView;
}

export const subscribe: Operation<SubscribeIntent, SubscribePlan, StreamBody> = {
  name: "subscribe",
  access: "subscribe",
  takesBody: false,

  /** Requires a readable key, because the event of a removed row contains only the key. */
  requireFields({ table, withheld }) {
    if (table.primaryKey.every((column) => !withheld.has(column))) return;
    throw new Problem("forbidden", "Cannot subscribe: streams show keys, which you may not read");
  },

  parse({ query, header }, resource) {
    subscribe.requireFields?.(resource);
    const include = resolveInclude(query.get("include"), resource);
    requireSubscribableIncludes(include);
    const view = viewOf(resource, query.get("select"), include);
    const requested = parseUserFilter(query.get("filter"), resource) ?? allRows;
    const window = parseWindow(query, resource);
    const columns = window?.order.map(({ column }) => column) ?? [];
    requireStoredColumns([...view.visible, ...columns], requested, include);
    return {
      requested,
      filter: and(requested, softDeleteFilter(query, resource)),
      window,
      view,
      resumeFrom: (header("last-event-id") ?? query.get("resumeFrom")) || null,
      skipExisting: parseFlag(query, "skipExisting"),
    };
  },

  readsFrom({ view }) {
    return resourcesReadByIncludes(view.include);
  },

  plan(intent, grant, resource, { related }) {
    const view = createLiveView(intent.view, resource, { related, user: grant.user });
    return { ...intent, hub: hubOf(resource), scope: grant.rows, view };
  },

  execute({ hub, ...plan }, call) {
    return openStream(call, (caller) => hub.subscribe({ ...plan, ...caller }));
  },

  shape: streamReply,
};

function parseWindow(query: Query, { table, fields, page: limits }: Resource): WindowQuery | null {
  const limit = query.get("limit");
  // Without `limit`, a stream sends all matching rows, so `orderBy` has no effect.
  if (limit === undefined) return null;
  const ofPages = ["cursor", "totalCount"].find((name) => query.has(name));
  if (ofPages !== undefined) {
    throw invalidParameter(`Cannot use "${ofPages}" here: a stream begins with the first rows`);
  }
  if (parseFlag(query, "skipExisting")) {
    throw invalidParameter('Cannot use "skipExisting" with "limit": the rows depend on each other');
  }
  const order = parseOrder(query.get("orderBy") ?? null, table, fields);
  return { order, limit: parseLimit(limit, limits) };
}
