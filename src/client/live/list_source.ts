import { type Handle, handle } from "../../api/handle.ts";
import { queryString } from "../request/query_string.ts";
import type { FilterInput, FilterOf, IncludeItemOf, Offers } from "../../api/checked_text.ts";
import type { AggregateOptions, GroupOf, NumericOf } from "../../api/aggregates.ts";
import type { OrderInput, RequestOptions } from "../../api/read_options.ts";
import { connectionOf } from "./direct_connection.ts";
import type { LiveListState } from "./live_list_state.ts";
import type { LiveMessage, LiveRow, LiveSeed, LiveStatus, Subscriber } from "./live_messages.ts";
import { type OpenList, openListsOf } from "./open_lists.ts";
import { sortFieldOf } from "./row_order.ts";
import { rowIdOf, RowSet } from "./row_set.ts";
import { createStore, type Store, throwLater } from "./store.ts";
import type { ApiResource, FieldOf, IncludeOf, RowOf } from "../../api/rows.ts";
import type { ServiceError } from "../request/service_error.ts";

interface UntypedListOptions {
  readonly filter?: FilterInput | undefined;
  readonly orderBy?: readonly string[] | undefined;
  readonly select?: readonly string[] | undefined;
  readonly include?: readonly string[] | undefined;
  readonly limit?: number | undefined;
  readonly seed?: LiveSeed | undefined;
  readonly accepts?: ((row: never) => boolean) | undefined;
}

function createLiveListStore(
  { transport, path }: Handle,
  { orderBy = [], seed, filter, select, include, limit, accepts }: UntypedListOptions,
): readonly [Store<LiveListState<object>>, RowSet] {
  const lists = openListsOf(transport);
  const set = new RowSet(orderBy, seed);
  // The client sorts the rows, so the request must include the fields of `orderBy`.
  const fields = select && [...new Set([...select, ...orderBy.map(sortFieldOf)])];
  const list: OpenList & Subscriber = {
    resource: path,
    // Without a limit, the stream has no order.
    path: path + "/subscribe" +
      queryString({
        filter,
        select: fields,
        include,
        limit,
        orderBy: limit === undefined ? limit : orderBy,
      }),
    set,
    filter,
    accepts,
    token: () => set.token,
    receive: (message) =>
      guard(() => {
        set.take(message);
        lists.overlays?.receive(list, message);
        if (message.type === "token") state = { status: "live", error: null };
        else if (message.type === "status") {
          const { status, error } = message;
          // Before the first rows arrive, the status stays `connecting` even if the stream fails.
          state = { status: status === "stale" && !set.description ? "connecting" : status, error };
        } else return;
        change();
      }),
    show: () => change(),
  };
  let state: Pick<LiveListState, "status" | "error"> = { status: "connecting", error: null };
  let leave = () => {};

  const [store, change] = createStore<LiveListState<object>>(() => {
    const shown = guard(() => lists.overlays?.shown(list));
    return { items: set.items, pending: 0, ...shown, ...state };
  }, () => {
    lists.all.add(list);
    leave = connectionOf(transport).add(list);
    return close;
  });

  function close(): void {
    leave();
    lists.all.delete(list);
    lists.overlays?.closed();
  }

  /** Runs `work`. An error, for instance of a program's callback, closes only this list. */
  function guard<T>(work: () => T): T | null {
    try {
      return work();
    } catch (error) {
      // Without a resume token, the next subscription starts with all rows.
      set.token = null;
      close();
      state = { status: "closed", error: null };
      change();
      throwLater(error);
      return null;
    }
  }

  return [store, set];
}

/** The query of a live list: filter, order, fields and included rows. */
export interface LiveListQuery<
  R extends ApiResource = ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
  Filter extends FilterInput = FilterInput,
> {
  /** The filter, as in a list request. */
  readonly filter?: FilterOf<R, Filter> | undefined;
  /** The order, as in a list request. NULL is last. Rows with equal values are in key order. */
  readonly orderBy?: readonly OrderInput<FieldOf<R>>[] | undefined;
  /** The requested fields. Fields of `orderBy` are always added. Default: all fields. */
  readonly select?: readonly Fields[] | undefined;
  /** Related rows to include. */
  readonly include?: readonly IncludeItemOf<R, Included>[] | undefined;
  /** The number of rows to keep, from the start of the order. Default: all rows. */
  readonly limit?: number | undefined;
}

/** The query of a live list, its seed, and which unconfirmed rows it shows. */
export interface LiveListOptions<
  R extends ApiResource = ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
  Filter extends FilterInput = FilterInput,
> extends LiveListQuery<R, Fields, Included, Filter> {
  /** The result of `prefetch`, for instance from a server. The list starts with these rows. */
  readonly seed?: LiveSeed | undefined;
  /**
   * Returns true if a new or changed row, whose write is unconfirmed, belongs to the list. Default:
   * new rows belong to a list without a filter, and changed rows stay in the list.
   */
  readonly accepts?: ((row: R["row"]) => boolean) | undefined;
}

/** A live list of rows. Its stream is open while the program listens to the list. */
export interface LiveList<Row = LiveRow> extends Store<LiveListState<Row>> {
  /** Returns the current rows as a seed for another process. Null before the first rows. */
  seed(): LiveSeed | null;
}

/**
 * Creates a live list of the rows of a resource that match a filter.
 *
 * @example
 * ```ts ignore
 * const open = liveList(api.notes, { filter: "status==open", orderBy: ["-id"] });
 * const close = open.subscribe(({ items, status }) => console.log(status, items.length));
 * ```
 */
export function liveList<
  R extends ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = never,
  const Filter extends FilterInput = FilterInput,
>(
  resource: Offers<R, "subscribe">,
  options: LiveListOptions<R, Fields, Included, Filter> = {},
): LiveList<RowOf<R, Fields, Included>> {
  // The casts are safe: the options also have the general types, which determine the row types.
  const [store, set] = createLiveListStore(resource[handle], options as UntypedListOptions);
  return {
    ...store as Store<LiveListState<RowOf<R, Fields, Included>>>,
    seed() {
      const { description, rows, token } = set;
      const items = [...rows.values()];
      return description && token
        ? {
          ...description,
          items,
          ids: items.map((row) => rowIdOf(row, description.primaryKey)),
          token,
        }
        : null;
    },
  };
}

/**
 * Reads the rows of a live list once. The result is a `seed` for another list, for instance in a
 * page that a server renders. Rejects if the list cannot be opened.
 */
export function prefetch<R extends ApiResource>(
  resource: Offers<R, "subscribe">,
  query: LiveListQuery<R> = {},
): Promise<LiveSeed> {
  const list = liveList(resource, query);
  return new Promise((resolve, reject) => {
    const end = list.subscribe(({ error }) => {
      const seed = list.seed();
      if (seed === null && error === null) return;
      // The store calls this listener before `subscribe` has returned `end`.
      queueMicrotask(() => end());
      if (seed !== null) resolve(seed);
      else reject(error);
    });
  });
}

/** The value of a live aggregate: its latest result and the status of its stream. */
export interface LiveAggregateState<Group = unknown> {
  /** The groups, as `GET /aggregate` returns them. */
  readonly groups: readonly Group[];
  /** True if there are more groups than the query requested. */
  readonly hasMore: boolean;
  /** The status of the stream, with the values of a live list's status. */
  readonly status: LiveStatus;
  /** The error that caused the status; null if there was none. */
  readonly error: ServiceError | null;
}

/** Creates a live aggregate. `query` has the options of the method `aggregate`. */
export function liveAggregate<
  R extends ApiResource,
  Key extends FieldOf<R> = never,
  Count extends boolean = never,
  Sum extends NumericOf<R> = never,
  Avg extends NumericOf<R> = never,
  Min extends FieldOf<R> = never,
  Max extends FieldOf<R> = never,
  const Filter extends FilterInput = FilterInput,
>(
  resource: Offers<R, "aggregate">,
  query: Omit<
    AggregateOptions<R, Key, Count, Sum, Avg, Min, Max, Filter>,
    keyof RequestOptions
  >,
): Store<LiveAggregateState<GroupOf<R, Key, Count, Sum, Avg, Min, Max>>> {
  type State = LiveAggregateState<GroupOf<R, Key, Count, Sum, Avg, Min, Max>>;
  const { transport, path } = resource[handle];
  let state: State = {
    ...{ groups: [], hasMore: false, status: "connecting", error: null },
  };
  function receive(message: LiveMessage): void {
    if (message.type === "aggregate") {
      // The cast is safe: the query determines the type of the groups.
      const { groups, hasMore } = message as typeof message & Pick<State, "groups">;
      state = { groups, hasMore, status: "live", error: null };
    } else if (message.type === "status") {
      const isNew = message.status === "stale" && state.status === "connecting";
      state = { ...state, status: isNew ? state.status : message.status, error: message.error };
    }
    change();
  }
  const subscriber = {
    ...{ path: `${path}/aggregate/subscribe${queryString(query)}`, token: () => null, receive },
  };
  const [store, change] = createStore(() => state, () => connectionOf(transport).add(subscriber));
  return store;
}
