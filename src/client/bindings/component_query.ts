import type { FilterInput } from "../../api/checked_text.ts";
import { handle, type HasHandle } from "../../api/handle.ts";
import type { ListNotString, OrderInput } from "../../api/read_options.ts";
import type { ApiResource, FieldOf, IncludeOf } from "../../api/rows.ts";
import type { LiveListOptions } from "../live/list_source.ts";
import type { LiveListState } from "../live/live_list_state.ts";
import type { Store } from "../live/store.ts";
import { queryString } from "../request/query_string.ts";

/** Options of a hook, in addition to the query. */
export interface HookOptions {
  /** If false, the hook opens no list. Default: `true`. */
  readonly enabled?: boolean | undefined;
  /** True to show the previous query's rows until a changed query has rows. Default: `false`. */
  readonly keepPreviousData?: boolean | undefined;
}

/** The query of a live list in a component. */
export type HookQuery<
  R extends ApiResource,
  Fields extends FieldOf<R>,
  Included extends IncludeOf<R>,
  Filter extends FilterInput = FilterInput,
  Order extends ListNotString<OrderInput<FieldOf<R>>> = ListNotString<OrderInput<FieldOf<R>>>,
> = LiveListOptions<R, Fields, Included, Filter, Order> & HookOptions;

export type LiveState = Pick<LiveListState, "status" | "error">;

export interface ShownStore<State> extends Omit<Store<State>, "subscribe"> {
  /** Identifies the query of a component. Queries with equal keys share one live list. */
  readonly key?: string;
  subscribe(listener: (state: State) => void, previous?: State): () => void;
}

export function isSameStore<State>(one: ShownStore<State>, other: ShownStore<State>): boolean {
  return one.key === undefined ? one === other : one.key === other.key;
}

/** Returns the query of a component. The query opens no list before its first listener. */
export function componentQuery<Resource extends HasHandle, Query, State extends LiveState>(
  create: (resource: Resource, query: Query) => Store<State>,
  kind: "list" | "aggregate",
  resource: Resource,
  { enabled, keepPreviousData, ...query }: Query & HookOptions,
): ShownStore<State> {
  const { transport: { parts }, path } = resource[handle];
  const parameters = Object.entries(query).filter(([name, value]) =>
    name !== "seed" && typeof value !== "function"
  );
  const key = `${kind} ${path}${queryString(Object.fromEntries(parameters.sort()))} ${enabled}`;
  // The cast is safe: the key determines the kind of the query, and so the type of the state.
  const shared = sharedQueriesOf(parts) as Map<string, SharedQuery<State>>;
  let own: Store<State> | undefined;
  // The cast is safe: `query` only lacks the options of the hook, which `Query` does not contain.
  const ownStore = () => own ??= create(resource, query as Query);
  const get = () => (shared.get(key)?.store ?? ownStore()).get();
  return {
    ...{ key, get },
    initial: () => initialState(ownStore()),
    subscribe(listener, previous) {
      const show = (state: State) =>
        listener(keepPreviousData ? withPrevious(state, previous) : state);
      if (enabled === false) {
        show(get());
        return () => {};
      }
      const one = shared.get(key) ?? { store: ownStore(), listeners: new Set() };
      shared.set(key, one);
      const end = one.store.subscribe(show);
      one.listeners.add(end);
      return () => {
        end();
        // Waits for a microtask: frameworks often unsubscribe and immediately subscribe again.
        queueMicrotask(() => {
          one.listeners.delete(end);
          if (one.listeners.size === 0 && shared.get(key) === one) shared.delete(key);
        });
      };
    },
  };
}

/** Returns the state for the first rendering: that of the server if a server rendered the page. */
export function initialState<State>(store: Pick<Store<State>, "get" | "initial">): State {
  return (store.initial ?? store.get)();
}

export function withPrevious<State extends LiveState>(
  state: State,
  previous: State | undefined,
): State {
  const { status, error } = state;
  return status === "connecting" && previous ? { ...previous, status, error } : state;
}

interface SharedQuery<State> {
  readonly store: Store<State>;
  readonly listeners: Set<() => void>;
}

function sharedQueriesOf(parts: Map<unknown, unknown>): unknown {
  const known = parts.get(sharedQueriesOf) ?? new Map();
  parts.set(sharedQueriesOf, known);
  return known;
}
