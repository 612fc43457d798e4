import { computed, type ShallowRef, shallowRef, toValue, watchEffect } from "vue";
import type { AggregateOptions, GroupOf, NumericOf } from "../../api/aggregates.ts";
import type { FilterInput, Offers } from "../../api/checked_text.ts";
import type { ListNotString, OrderInput } from "../../api/read_options.ts";
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

/** A value, a ref of a value, or a function that returns a value. */
export type RefOrGetter<T> = T | Readonly<ShallowRef<T>> | (() => T);

/**
 * Returns a Vue ref of a live list or aggregate, updated until its effect scope ends. `store` may
 * be a function: `useLive(() => liveAggregate(api.notes, { groupBy: [props.field] }))`.
 */
export function useLive<T>(store: Store<T> | (() => Store<T>)): Readonly<ShallowRef<T>> {
  return follow(() => toValue(store));
}

/**
 * Returns a Vue ref of a live list whose query may be a ref or a getter:
 * `useLiveList(api.notes, () => ({ filter: props.filter }))`. The list changes only if a value in
 * the query changes.
 */
export function useLiveList<
  R extends ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = never,
  const Filter extends FilterInput = FilterInput,
  const Order extends ListNotString<OrderInput<FieldOf<R>>> = ListNotString<never>,
>(
  resource: Offers<R, "subscribe">,
  query: RefOrGetter<HookQuery<R, Fields, Included, Filter, Order>> = {},
): Readonly<ShallowRef<LiveListState<RowOf<R, Fields | FieldsOfOrder<Order>, Included>>>> {
  const create = liveList<R, Fields, Included, Filter, Order>;
  return follow(() => componentQuery(create, "list", resource, toValue(query)));
}

/** Returns a Vue ref of a live aggregate, as {@link useLiveList} does for a list. */
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
  query: RefOrGetter<
    AggregateOptions<R, Key, Count, Sum, Avg, Min, Max, Filter> & HookOptions
  >,
): Readonly<ShallowRef<LiveAggregateState<GroupOf<R, Key, Count, Sum, Avg, Min, Max>>>> {
  const create = liveAggregate<R, Key, Count, Sum, Avg, Min, Max, Filter>;
  return follow(() => componentQuery(create, "aggregate", resource, toValue(query)));
}

function follow<T>(read: () => ShownStore<T>): Readonly<ShallowRef<T>> {
  const stores = computed<ShownStore<T>>((last) => {
    const next = read();
    return last && isSameStore(last, next) ? last : next;
  });
  let shown = initialState(stores.value);
  const ref = shallowRef(shown);
  // With `flush: "post"`, Vue skips the effect during server-side rendering and opens no stream.
  watchEffect((onEnd) => {
    onEnd(stores.value.subscribe((value) => ref.value = shown = value, shown));
  }, { flush: "post" });
  return ref;
}
