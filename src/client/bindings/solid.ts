import type { AggregateOptions, GroupOf, NumericOf } from "../../api/aggregates.ts";
import type { FilterInput, Offers } from "../../api/checked_text.ts";
import type { ListNotString, OrderInput } from "../../api/read_options.ts";
import { type Accessor, createEffect, createMemo, createSignal, onCleanup } from "solid-js";
import type { ApiResource, FieldOf, FieldsOfOrder, IncludeOf, RowOf } from "../../api/rows.ts";
import { liveAggregate, type LiveAggregateState, liveList } from "../live/list_source.ts";
import type { LiveListState } from "../live/live_list_state.ts";
import type { Store } from "../live/store.ts";
import {
  componentQuery,
  type HookOptions,
  type HookQuery,
  initialState,
  isSameStore,
  type ShownStore,
} from "./component_query.ts";

/**
 * Returns a live list or aggregate as a Solid signal, updated until its owner is disposed. The
 * list may be the result of a function that reads signals:
 * `useLive(() => liveAggregate(api.notes, { groupBy: [field()] }))`.
 */
export function useLive<T>(store: Store<T> | (() => Store<T>)): Accessor<T> {
  return follow(typeof store === "function" ? store : () => store);
}

/**
 * Returns the value of a live list as a Solid signal. `query` may read signals:
 * `useLiveList(api.notes, () => ({ filter: filter() }))`. The list changes only if a value in the
 * query changes.
 */
export function useLiveList<
  R extends ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = never,
  const Filter extends FilterInput = FilterInput,
  const Order extends ListNotString<OrderInput<FieldOf<R>>> = ListNotString<never>,
>(
  resource: Offers<R, "subscribe">,
  query: () => HookQuery<R, Fields, Included, Filter, Order> = () => ({}),
): Accessor<LiveListState<RowOf<R, Fields | FieldsOfOrder<Order>, Included>>> {
  const create = liveList<R, Fields, Included, Filter, Order>;
  return follow(() => componentQuery(create, "list", resource, query()));
}

/** Returns the value of a live aggregate, as {@link useLiveList} does for a list. */
export function useLiveAggregate<
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
  query: () => AggregateOptions<R, Key, Count, Sum, Avg, Min, Max, Filter> & HookOptions,
): Accessor<LiveAggregateState<GroupOf<R, Key, Count, Sum, Avg, Min, Max>>> {
  const create = liveAggregate<R, Key, Count, Sum, Avg, Min, Max, Filter>;
  return follow(() => componentQuery(create, "aggregate", resource, query()));
}

function follow<T>(read: () => ShownStore<T>): Accessor<T> {
  const store = createMemo(read, undefined, { equals: isSameStore });
  let shown = initialState(store());
  const [value, set] = createSignal(shown);
  // Effects run only after mounting, so that server-side rendering opens no stream.
  createEffect(() => onCleanup(store().subscribe((next) => set(() => shown = next), shown)));
  return value;
}
