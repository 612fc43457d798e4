import type { FilterInput } from "../../api/checked_text.ts";
import { type Accessor, createEffect, createMemo, createSignal, onCleanup } from "solid-js";
import type { ResourceClient } from "../../api/resource_client.ts";
import type { ApiResource, FieldOf, IncludeOf, RowOf } from "../../api/rows.ts";
import { liveList } from "../live/list_source.ts";
import type { LiveListState } from "../live/live_list_state.ts";
import type { Store } from "../live/store.ts";
import {
  componentQuery,
  type HookQuery,
  initialState,
  type ShownStore,
} from "./component_query.ts";

/**
 * Returns a live list or aggregate as a Solid signal, updated until its owner is disposed. The
 * list may be the result of a function that reads signals:
 * `useLive(() => liveAggregate(api.notes, { groupBy: [field()] }))`.
 */
export function useLive<T>(store: Store<T> | (() => Store<T>)): Accessor<T> {
  return follow(typeof store === "function" ? createMemo(store) : () => store);
}

/**
 * Returns the value of a live list as a Solid signal. `query` may read signals:
 * `useLiveList(api.notes, () => ({ filter: filter() }))`. The list changes only with a value of the
 * query.
 */
export function useLiveList<
  R extends ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = never,
  const Filter extends FilterInput = FilterInput,
>(
  resource: ResourceClient<R>,
  query: () => HookQuery<R, Fields, Included, Filter> = () => ({}),
): Accessor<LiveListState<RowOf<R, Fields, Included>>> {
  const read = () =>
    componentQuery(liveList<R, Fields, Included, Filter>, "list", resource, query());
  const equals = (one: { key: string }, other: { key: string }) => one.key === other.key;
  return follow(createMemo(read, undefined, { equals }));
}

function follow<T>(store: Accessor<ShownStore<T>>): Accessor<T> {
  let shown = initialState(store());
  const [value, set] = createSignal(shown);
  // Effects run only after mounting, so that server-side rendering opens no stream.
  createEffect(() => onCleanup(store().subscribe((next) => set(() => shown = next), shown)));
  return value;
}
