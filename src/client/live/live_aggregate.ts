import { handle, type HasHandle } from "../../api/handle.ts";
import { queryString } from "../request/query_string.ts";
import type { ServiceError } from "../request/service_error.ts";
import { connectionOf } from "./direct_connection.ts";
import type { LiveMessage, LiveStatus } from "./live_messages.ts";
import { createStore, type Store } from "./store.ts";

/** The value of a live aggregate: its latest result and the status of its stream. */
export interface LiveAggregateState<Group = unknown> {
  /** The groups, as `GET /aggregate` returns them. */
  readonly groups: readonly Group[];
  /** True if there are more groups than the query requested. */
  readonly hasMore: boolean;
  /** The status of the stream. The values are the same as for a live list. */
  readonly status: LiveStatus;
  /** The error from the service, or null if the service has reported none. */
  readonly error: ServiceError | null;
}

/** Creates a live aggregate. `query` has the query parameters of `GET /aggregate`. */
export function liveAggregate(
  resource: HasHandle,
  query: Readonly<Record<string, unknown>>,
): Store<LiveAggregateState> {
  const { transport, path } = resource[handle];
  function receive(message: LiveMessage): void {
    const known = store.get();
    if (message.type === "aggregate") {
      const { groups, hasMore } = message;
      set({ groups, hasMore, status: "live", error: null });
    } else if (message.type === "status") {
      const isNew = message.status === "stale" && known.status === "connecting";
      set({ ...known, status: isNew ? known.status : message.status, error: message.error });
    }
  }
  const first: LiveAggregateState = {
    ...{ groups: [], hasMore: false, status: "connecting", error: null },
  };
  const subscriber = {
    ...{ path: `${path}/aggregate/subscribe${queryString(query)}`, token: () => null, receive },
  };
  const [store, set] = createStore(first, () => connectionOf(transport).add(subscriber));
  return store;
}
