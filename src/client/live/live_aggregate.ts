import { handle, type HasHandle } from "../../api/handle.ts";
import { queryText } from "../request/query_text.ts";
import type { ServiceError } from "../request/service_error.ts";
import { connectionOf } from "./live_connection.ts";
import type { LiveMessage, LiveStatus } from "./live_messages.ts";
import { createStore, type Store } from "./store.ts";

/** What a live aggregate shows: the last result. */
export interface LiveAggregateState<Group = unknown> {
  /** As in the answer of `GET /aggregate`. */
  readonly groups: readonly Group[];
  /** True if there are more groups than were asked for. */
  readonly hasMore: boolean;
  /** As of a live list. */
  readonly status: LiveStatus;
  /** Why it is not live, where the service has said it. */
  readonly error: ServiceError | null;
}

/** Follows the result of an aggregate; `query` is that of `GET /aggregate`. */
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
    ...{ path: `${path}/aggregate/subscribe${queryText(query)}`, token: () => null, receive },
  };
  const [store, set] = createStore(first, () => connectionOf(transport).add(subscriber));
  return store;
}
