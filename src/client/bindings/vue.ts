import type { FilterInput } from "../../api/checked_text.ts";
import { computed, type ComputedRef, type ShallowRef, shallowRef, toValue, watchEffect } from "vue";
import type { ResourceClient } from "../../api/resource_client.ts";
import type { ApiResource, FieldOf, IncludeOf, RowOf } from "../../api/rows.ts";
import { liveList } from "../live/list_source.ts";
import type { LiveListState } from "../live/live_list_state.ts";
import type { Store } from "../live/store.ts";
import {
  type ComponentQuery,
  componentQuery,
  type HookQuery,
  initialState,
  type ShownStore,
} from "./component_query.ts";

/** A value, a ref of a value, or a function that returns a value. */
export type RefOrGetter<T> = T | Readonly<ShallowRef<T>> | (() => T);

/**
 * Returns a Vue ref of a live list or aggregate, updated until its effect scope ends. `store` may
 * be a function: `useLive(() => liveAggregate(api.notes, { groupBy: [props.field] }))`.
 */
export function useLive<T>(store: Store<T> | (() => Store<T>)): Readonly<ShallowRef<T>> {
  return follow(computed(() => toValue(store)));
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
>(
  resource: ResourceClient<R>,
  query: RefOrGetter<HookQuery<R, Fields, Included, Filter>> = {},
): Readonly<ShallowRef<LiveListState<RowOf<R, Fields, Included>>>> {
  return follow(computed<ComponentQuery<LiveListState<RowOf<R, Fields, Included>>>>((last) => {
    const next = componentQuery(
      liveList<R, Fields, Included, Filter>,
      "list",
      resource,
      toValue(query),
    );
    return last?.key === next.key ? last : next;
  }));
}

function follow<T>(stores: ComputedRef<ShownStore<T>>): Readonly<ShallowRef<T>> {
  let shown = initialState(stores.value);
  const ref = shallowRef(shown);
  // With `flush: "post"`, Vue skips the effect during server-side rendering and opens no stream.
  watchEffect((onEnd) => {
    onEnd(stores.value.subscribe((value) => ref.value = shown = value, shown));
  }, { flush: "post" });
  return ref;
}
