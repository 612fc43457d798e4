import { allRows, and, type Filter } from "../filter/filter.ts";
import type { Hub } from "../live/hub.ts";
import type { LiveView } from "../live/view.ts";
import { addressGroup } from "../guard/client_address.ts";
import { Problem } from "../problem/problem.ts";
import { reachedBy, readInclude } from "./include.ts";
import { liveView } from "./live_view.ts";
import { requireFollowable } from "./load_included.ts";
import type { Operation } from "./operation.ts";
import { type View, viewOf } from "./output.ts";
import { parseFlag } from "./query.ts";
import { userFilter } from "./user_filter.ts";

interface SubscribeIntent {
  /** What must hold beside the scope. */
  readonly filter: Filter;
  readonly view: View;
  readonly resumeFrom: string | null;
  readonly skipExisting: boolean;
}

interface SubscribePlan extends Omit<SubscribeIntent, "view"> {
  readonly hub: Hub;
  readonly scope: Filter;
  readonly view: LiveView;
}

/** `GET /subscribe`: the rows, and every change of them as it happens. */
export const subscribe: Operation<
  SubscribeIntent,
  SubscribePlan,
  ReadableStream<Uint8Array> | null
> = {
  name: "subscribe",
  access: "subscribe",
  takesBody: false,

  parse({ query, header }, resource) {
    const include = readInclude(query.get("include"), resource);
    requireFollowable(include);
    return {
      filter: and(userFilter(query.get("filter"), resource) ?? allRows, resource.live),
      view: viewOf(resource, query.get("select"), include),
      resumeFrom: (header("last-event-id") ?? query.get("resumeFrom")) || null,
      skipExisting: parseFlag(query, "skipExisting"),
    };
  },

  reaches({ view }) {
    return reachedBy(view.include);
  },

  plan(intent, grant, resource, { related }) {
    const hub = resource.hub();
    // Where nobody may subscribe there is none either, but then the right was missing before.
    if (hub === null) throw new Problem("not-found", "There is nothing at this path");
    const view = liveView(intent.view, resource, { related, user: grant.user });
    return { ...intent, hub, scope: grant.rows, view };
  },

  async execute({ hub, ...plan }, { resource, request, user }) {
    // A stream that nobody will read must not be opened.
    if (request.raw.method === "HEAD") return null;
    const { url, policy, table, reader } = resource;
    return await hub.subscribe({
      ...plan,
      resource: url,
      access: "subscribe",
      policy,
      table,
      reader,
      user,
      address: addressGroup(request.address()),
      signal: request.raw.signal,
    });
  },

  shape(body) {
    return { status: 200, headers: streamHeaders, body };
  },
};

/** No proxy may keep a stream, hold it back or pack it anew. */
const streamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
};
