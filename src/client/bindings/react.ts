// @ts-types="@types/react"
import { useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import type { AggregateOptions, GroupOf, NumericOf } from "../../api/aggregates.ts";
import type { FilterInput, Offers } from "../../api/checked_text.ts";
import { handle, type HasHandle } from "../../api/handle.ts";
import type { ListNotString, OrderInput } from "../../api/read_options.ts";
import type { ApiResource, FieldOf, FieldsOfOrder, IncludeOf, RowOf } from "../../api/rows.ts";
import { reportMisuse } from "../environment.ts";
import { liveAggregate, type LiveAggregateState, liveList } from "../live/list_source.ts";
import type { LiveListState } from "../live/live_list_state.ts";
import type { Store } from "../live/store.ts";
import {
  componentQuery,
  type HookOptions,
  type HookQuery,
  initialState,
  type LiveState,
  withPrevious,
} from "./component_query.ts";

/** Options of a hook for React, in addition to the query. */
export interface ReactHookOptions extends HookOptions {
  /** True to suspend the component until the first rows arrive. Default: `false`. */
  readonly suspense?: boolean | undefined;
  /** True to throw the error of a `closed` list to the error boundary. Default: `false`. */
  readonly throwOnError?: boolean | undefined;
}

/**
 * Returns the value of a live list or aggregate in React: `const { items } = useLive(list)`. The
 * list must exist outside of the component. In a component, use {@link useLiveList}.
 */
export function useLive<T>(store: Store<T>): T {
  const value = useSyncExternalStore(store.subscribe, store.get, () => initialState(store));
  const seen = useRef({ store, changes: 0 });
  useEffect(() => {
    const { status } = Object(value);
    const isChanged = seen.current.store !== store && status && status !== "live";
    const changes = isChanged ? seen.current.changes + 1 : 0;
    seen.current = { store, changes };
    if (changes === maxChanges) reportMisuse(misuse);
  });
  return value;
}

/**
 * Returns the value of a live list in a component. Each rendering may create new objects and arrays
 * for the query, because the hook compares their contents. The hook opens another list only if a
 * value in the query changes.
 *
 * @example
 * ```tsx ignore
 * const { items } = useLiveList(api.notes, { filter: rsql`ownerId==${owner}` });
 * ```
 */
export function useLiveList<
  R extends ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = never,
  const Filter extends FilterInput = FilterInput,
  const Order extends ListNotString<OrderInput<FieldOf<R>>> = ListNotString<never>,
>(
  resource: Offers<R, "subscribe">,
  query: HookQuery<R, Fields, Included, Filter, Order> & ReactHookOptions = {},
): LiveListState<RowOf<R, Fields | FieldsOfOrder<Order>, Included>> {
  return useQuery(liveList<R, Fields, Included, Filter, Order>, "list", resource, query);
}

/** Returns the value of a live aggregate in a component, as {@link useLiveList} does for a list. */
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
  query: AggregateOptions<R, Key, Count, Sum, Avg, Min, Max, Filter> & ReactHookOptions,
): LiveAggregateState<GroupOf<R, Key, Count, Sum, Avg, Min, Max>> {
  const create = liveAggregate<R, Key, Count, Sum, Avg, Min, Max, Filter>;
  return useQuery(create, "aggregate", resource, query);
}

function useQuery<Resource extends HasHandle, Query, State extends LiveState>(
  create: (resource: Resource, query: Query) => Store<State>,
  kind: "list" | "aggregate",
  resource: Resource,
  { suspense, throwOnError, ...options }: Query & ReactHookOptions,
): State {
  // The cast is safe: `Query` contains neither `suspense` nor `throwOnError`.
  const next = componentQuery(create, kind, resource, options as Query & HookOptions);
  const query = useMemo(() => next, [resource, next.key]);
  const shown = useRef<{ readonly of: unknown; readonly state: State }>(undefined);
  let isServer = false;
  const own = useSyncExternalStore<State>(query.subscribe, query.get, () => {
    isServer = true;
    return initialState(query);
  });
  const previous = shown.current;
  // Rows of another resource, or of another user's client, are not shown.
  const isKept = options.keepPreviousData && previous?.of === resource;
  const state = isKept ? withPrevious(own, previous.state) : own;
  useEffect(() => {
    if (own.status !== "connecting") shown.current = { of: resource, state: own };
  });
  if (throwOnError && state.status === "closed") throw state.error ?? new Error("The list closed");
  if (suspense && state === own && state.status === "connecting" && options.enabled !== false) {
    throw isServer ? new Error("A server renders this component only with a `seed`") : rowsOf();
  }
  return state;

  /** Resolves when the first rows arrive. Keeps the list open until the component is mounted. */
  function rowsOf(): Promise<void> {
    return new Promise((resolve) => {
      const end = query.subscribe(({ status }) => {
        if (status === "connecting") return;
        resolve();
        resource[handle].transport.environment.after(mountMs, () => end());
      });
    });
  }
}

const maxChanges = 10;
/** How long a list stays open for a component that is about to be mounted, in milliseconds. */
const mountMs = 10_000;
const misuse = "useLive received a new list at each rendering, and no list became live. Pass the " +
  "query to useLiveList or useLiveAggregate, or create the list outside of the component.";
