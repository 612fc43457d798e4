import { handle } from "../../api/handle.ts";
import { queryString } from "../request/query_string.ts";
import type { FilterInput, Offers } from "../../api/checked_text.ts";
import type { AggregateOptions, GroupOf, NumericOf } from "../../api/aggregates.ts";
import type { ListNotString, OrderInput, RowsQuery } from "../../api/read_options.ts";
import { connectionOf } from "./direct_connection.ts";
import type { LiveListState } from "./live_list_state.ts";
import type { LiveMessage, LiveRow, LiveSeed, LiveStatus, Subscriber } from "./live_messages.ts";
import { type OpenList, openListsOf } from "./open_lists.ts";
import { sortFieldOf } from "./row_order.ts";
import { rowIdOf, RowSet } from "./row_set.ts";
import { createStore, runSafely, type Store } from "./store.ts";
import type { ApiResource, FieldOf, FieldsOfOrder, IncludeOf, RowOf } from "../../api/rows.ts";
import type { ServiceError } from "../request/service_error.ts";

function seedOf({ description, items, token }: RowSet): LiveSeed | null {
  if (!description || !token) return null;
  const ids = items.map((row) => rowIdOf(row, description.primaryKey));
  return { ...description, items, ids, token };
}

/** The query of a live list: filter, order, fields and included rows. */
export interface LiveListQuery<
  R extends ApiResource = ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
  Filter extends FilterInput = FilterInput,
  Order extends ListNotString<OrderInput<FieldOf<R>>> = ListNotString<OrderInput<FieldOf<R>>>,
> extends RowsQuery<R, Fields, Included, Filter> {
  /** Fields to sort by, then the key. NULL is last. Rows contain these fields despite `select`. */
  readonly orderBy?: Order | undefined;
  /** The maximum number of rows, from the start of the order. Default: all rows. */
  readonly limit?: number | undefined;
}

/** The query of a live list, its seed, and the test `accepts` for rows with unconfirmed writes. */
export interface LiveListOptions<
  R extends ApiResource = ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
  Filter extends FilterInput = FilterInput,
  Order extends ListNotString<OrderInput<FieldOf<R>>> = ListNotString<OrderInput<FieldOf<R>>>,
> extends LiveListQuery<R, Fields, Included, Filter, Order> {
  /** The result of `prefetch`, for instance from a server. The list starts with these rows. */
  readonly seed?: LiveSeed | undefined;
  /**
   * Returns true if the list shows a row that has an unconfirmed write. Default: the client tests
   * the filter. If only the service can test it, the list shows changed rows and no new rows.
   */
  readonly accepts?: ((row: R["row"]) => boolean) | undefined;
}

/** A live list of rows. Its stream is open while the program listens to the list. */
export interface LiveList<Row = LiveRow> extends Store<LiveListState<Row>> {
  /** Returns the current rows as a seed for another process. Null before the first rows. */
  seed(): LiveSeed | null;
  /**
   * Adds `count` rows to the `limit` of the list; default: the option `limit`. The list shows its
   * current rows until it has received all rows up to the new limit. Until then, and while the
   * list has no listeners, a further call does nothing. When the list has reached the maximum limit
   * of the service, `hasMore` is false, and a call does nothing. An argument that is not a number,
   * such as an event, is ignored.
   *
   * @throws {TypeError} If `count` is not a positive whole number, or if the list has no `limit`.
   */
  loadMore(count?: number): void;
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
  const Order extends ListNotString<OrderInput<FieldOf<R>>> = ListNotString<never>,
>(
  { [handle]: { transport, path } }: Offers<R, "subscribe">,
  // The cast is safe: every type of the option includes empty lists.
  { orderBy = [] as never, seed, filter, select, include, limit, accepts }: LiveListOptions<
    R,
    Fields,
    Included,
    Filter,
    Order
  > = {},
): LiveList<RowOf<R, Fields | FieldsOfOrder<Order>, Included>> {
  const lists = openListsOf(transport);
  const set = new RowSet(orderBy, seed, limit);
  // The client sorts the rows, so the request must include the fields of `orderBy`.
  const fields = select && [...select, ...orderBy.map(sortFieldOf)];
  const list: OpenList & Omit<Subscriber, "path"> = {
    ...{ resource: path, set, filter, accepts, show: () => change() },
    receive: (message) =>
      runSafely(() => {
        set.take(message);
        lists.overlays?.receive(list, message);
        if (message.type === "token" || message.type === "status") change();
      }, fail),
  };
  let wanted = limit!;
  let leave = () => {};

  const [store, change] = createStore<LiveListState<object>>(() => {
    const shown = runSafely(() => lists.overlays?.shown(list), fail);
    // While more rows load, there is no token, and the rows can only fill the previous limit.
    const hasMore = set.rows.size >= (set.token ? wanted : set.limit!);
    return { items: set.items, pending: 0, ...shown, ...set.state, hasMore, loadMore };
  }, open);

  function open(): () => void {
    leave();
    lists.all.add(list);
    const query = queryString({ filter, select: fields, include, limit: wanted, orderBy });
    // A new subscriber object receives no events of the earlier subscription.
    leave = connectionOf(transport).add({ ...list, path: path + "/subscribe" + query });
    return close;
  }

  function loadMore(count?: number): void {
    const added = isNaN(count!) ? limit! : +count!;
    if (added % 1 !== 0 || added < 1) throw new TypeError("Cannot load " + added);
    if (!set.token || !lists.all.has(list) || set.limit! < wanted) return;
    set.token = null;
    wanted += added;
    open();
  }

  function close(): void {
    leave();
    lists.all.delete(list);
    lists.overlays?.closed();
  }

  /** Closes only this list. Removes the token, so that the next stream sends all rows. */
  function fail(): void {
    set.token = null;
    close();
    set.state = { status: "closed", error: null };
    change();
  }

  // The cast is safe: the options determine the types of the rows.
  return { ...store, loadMore, seed: () => seedOf(set) } as LiveList<never>;
}

/** Reads the rows of a live list once, as the `seed` of a list in a page that a server renders. */
export function prefetch<R extends ApiResource>(
  resource: Offers<R, "subscribe">,
  query: LiveListQuery<R> = {},
): Promise<LiveSeed> {
  const list = liveList(resource, query);
  return new Promise((resolve, reject) => {
    const end = list.subscribe(({ error }) => {
      const seed = list.seed();
      if (seed === null && error === null) return;
      // `end` is not set yet, because the store calls this listener during `subscribe`.
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
  /** The status of the stream, as in a live list. */
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
  query: AggregateOptions<R, Key, Count, Sum, Avg, Min, Max, Filter>,
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
    ...{ path: `${path}/aggregate/subscribe${queryString({ ...query })}`, receive },
    set: { token: null },
  };
  const [store, change] = createStore(() => state, () => connectionOf(transport).add(subscriber));
  return store;
}
