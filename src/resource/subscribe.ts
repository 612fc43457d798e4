import { allRows, and, type Filter } from "../filter/filter.ts";
import type { Hub } from "../live/hub.ts";
import type { LiveView } from "../live/view.ts";
import { parseSelect } from "../plan/select.ts";
import type { ColumnInfo } from "../schema/table_info.ts";
import { tagOf } from "./etag.ts";
import { noIncludes } from "./include.ts";
import type { Operation } from "./operation.ts";
import { presentRows } from "./output.ts";
import { parseFlag } from "./query.ts";
import type { Resource } from "./resource.ts";
import { hubOf, openStream, type Stream, streamReply } from "./stream.ts";
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
export const subscribe: Operation<SubscribeIntent, SubscribePlan, Stream> = {
  name: "subscribe",
  access: "subscribe",
  takesBody: false,

  parse({ query, header }, resource) {
    return {
      filter: and(userFilter(query.get("filter"), resource) ?? allRows, resource.live),
      view: liveView(parseSelect(query.get("select") ?? null, resource.fields.readable), resource),
      resumeFrom: (header("last-event-id") ?? query.get("resumeFrom")) || null,
      skipExisting: parseFlag(query, "skipExisting"),
    };
  },

  plan(intent, grant, resource) {
    return { ...intent, hub: hubOf(resource), scope: grant.rows };
  },

  execute({ hub, ...plan }, call) {
    return openStream(call, (caller) => hub.subscribe({ ...plan, ...caller }));
  },

  shape: streamReply,
};

/** The door of rows for streams: masked like everywhere, and with their tags. */
function liveView(visible: readonly ColumnInfo[], resource: Resource): LiveView {
  const { table, computed, etag } = resource;
  return {
    key: JSON.stringify(visible.map(({ name }) => name)),
    present(rows) {
      const shown = presentRows(rows, table.columns, { visible, computed, include: noIncludes });
      if (etag === null) return shown;
      return shown.map((item, index) => ({ ...item, _etag: tagOf(rows[index] ?? {}, etag) }));
    },
  };
}
