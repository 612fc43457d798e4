import { allRows, and, type Filter } from "../filter/filter.ts";
import type { Hub } from "../live/hub.ts";
import type { LiveView } from "../live/view.ts";
import { Problem } from "../problem/problem.ts";
import { tagOf } from "./etag.ts";
import type { Operation } from "./operation.ts";
import { presentRows, type View, viewOf } from "./output.ts";
import { parseFlag } from "./query.ts";
import type { Resource } from "./resource.ts";
import { userFilter } from "./user_filter.ts";

interface SubscribeIntent {
  /** What must hold beside the scope. */
  readonly filter: Filter;
  readonly view: LiveView;
  readonly resumeFrom: string | null;
  readonly skipExisting: boolean;
}

interface SubscribePlan extends SubscribeIntent {
  readonly hub: Hub;
  readonly scope: Filter;
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
    return {
      filter: and(userFilter(query.get("filter"), resource) ?? allRows, resource.live),
      view: liveView(viewOf(resource, query.get("select")), resource),
      resumeFrom: (header("last-event-id") ?? query.get("resumeFrom")) || null,
      skipExisting: parseFlag(query, "skipExisting"),
    };
  },

  plan(intent, grant, resource) {
    const hub = resource.hub();
    // Where nobody may subscribe there is none either, but then the right was missing before.
    if (hub === null) throw new Problem("not-found", "There is nothing at this path");
    return { ...intent, hub, scope: grant.rows };
  },

  async execute({ hub, ...plan }, { resource, request, user }) {
    // A stream that nobody will read must not be opened.
    if (request.raw.method === "HEAD") return null;
    const { url, policy, table, reader } = resource;
    return await hub.subscribe({
      ...plan,
      resource: url,
      policy,
      table,
      reader,
      user,
      address: request.address(),
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

/** The door of rows for streams: masked like everywhere, and with their tags. */
function liveView(view: View, { table, etag }: Resource): LiveView {
  return {
    key: JSON.stringify(view.visible.map(({ name }) => name)),
    present(rows) {
      const shown = presentRows(rows, table.columns, view);
      if (etag === null) return shown;
      return shown.map((item, index) => ({ ...item, _etag: tagOf(rows[index] ?? {}, etag) }));
    },
  };
}
