import { handle, type HasHandle } from "../request/handle.ts";
import { queryText } from "../request/query_text.ts";
import type { ApiResource } from "../types/api.ts";
import type { FilterInput, OrderInput } from "../types/read_options.ts";
import type { ResourceClient } from "../types/resource_client.ts";
import type { FieldOf, IncludeOf, RowOf } from "../types/rows.ts";
import type { ServiceError } from "../request/service_error.ts";
import { connectionOf } from "./live_connection.ts";
import type {
  LiveMessage,
  LiveRow,
  LiveRowId,
  LiveStatus,
  RowDescription,
} from "./live_messages.ts";
import { type OpenList, openListsOf } from "./open_lists.ts";
import { fieldOf } from "./row_order.ts";
import { RowSet } from "./row_set.ts";
import { createStore, type Store } from "./store.ts";

/** Which rows a live list has, and how. */
export interface LiveListQuery<
  R extends ApiResource = ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
> {
  readonly filter?: FilterInput | undefined;
  readonly orderBy?: readonly OrderInput<FieldOf<R>>[] | undefined;
  readonly select?: readonly Fields[] | undefined;
  readonly include?: readonly Included[] | undefined;
}

/** How a live list begins, and what it shows before the service has confirmed it. */
export interface LiveListOptions<
  R extends ApiResource = ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
> extends LiveListQuery<R, Fields, Included> {
  /** What `prefetch` has read, in a server for instance: the list continues after it. */
  readonly seed?: LiveSeed | undefined;
  /**
   * Whether a row that is not confirmed yet belongs to the list. Unset, new rows show where the list
   * has no filter, and changed rows stay.
   */
  readonly accepts?: ((row: R["row"]) => boolean) | undefined;
}

/** The rows of a live list at a position of the log, as JSON. */
export interface LiveSeed extends RowDescription {
  readonly items: readonly LiveRow[];
  /** The ids of the rows, as `select` may have left them out. */
  readonly ids: readonly LiveRowId[];
  readonly token: string;
}

/** What a live list shows: a new object after each change. */
export interface LiveListState<Row = LiveRow> {
  /** In the order of `orderBy`. */
  readonly items: readonly (Row & LiveMarks)[];
  readonly status: LiveStatus;
  /** How many writes it shows that are not confirmed yet. */
  readonly pending: number;
  /** Why it is `limited`, `needs-auth`, `closed`, or `stale`, where the service has said it. */
  readonly error: ServiceError | null;
}

/** What a live list adds to its rows. */
export interface LiveMarks {
  /** The tag of the row, where the resource has tags. */
  readonly _etag?: string;
  /** Present where a write that is not confirmed yet has made or changed the row. */
  readonly _pending?: true;
}

/** A live list: a store of rows, open while it has listeners. */
export interface LiveList<Row = LiveRow> extends Store<LiveListState<Row>> {
  /** What a list in another process may continue after; null before the first rows. */
  seed(): LiveSeed | null;
}

/** The options as they are used, whatever the rows. */
interface UntypedOptions {
  readonly filter?: FilterInput | undefined;
  readonly orderBy?: readonly string[] | undefined;
  readonly select?: readonly string[] | undefined;
  readonly include?: readonly string[] | undefined;
  readonly seed?: LiveSeed | undefined;
  readonly accepts?: ((row: never) => boolean) | undefined;
}

/** Follows the rows of a resource that pass a filter, gap-free and sorted. */
export function liveList<
  R extends ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = never,
>(
  resource: ResourceClient<R>,
  options?: LiveListOptions<R, Fields, Included>,
): LiveList<RowOf<R, Fields, Included>>;
export function liveList(resource: HasHandle, options: UntypedOptions = {}): LiveList<object> {
  const { transport, path } = resource[handle];
  const { orderBy = [], seed, filter, select, include, accepts } = options;
  const set = new RowSet(orderBy);
  const list: OpenList = {
    path,
    set,
    accepts,
    takesNew: !filter || !!accepts,
    show,
    overlays: null,
  };
  let token: string | null = null;
  let status: LiveStatus = "connecting";
  let error: ServiceError | null = null;
  if (seed !== undefined) {
    set.begin(seed, false);
    set.take({ ...seed, type: "existing" });
    set.commit();
    token = seed.token;
  }

  function state(): LiveListState {
    const { overlays } = list;
    const items = overlays?.merged() ?? set.items;
    return { items, status, pending: overlays?.count ?? 0, error };
  }

  function show(): void {
    setState(state());
  }

  function receive(message: LiveMessage): void {
    list.overlays?.receive(message);
    if (message.type === "opened") {
      const { primaryKey, types } = message;
      set.begin({ primaryKey, types }, token !== null);
    } else if (message.type === "token") {
      token = message.token;
      set.commit();
      list.overlays?.confirm();
      status = "live";
      error = null;
      show();
    } else if (message.type === "status") {
      // Before its first rows a list is connecting, however often that takes.
      const isNew = message.status === "stale" && token === null && set.items.length === 0;
      status = isNew ? "connecting" : message.status;
      error = message.error;
      show();
    } else if (message.type !== "aggregate") {
      if (message.type === "invalidate") token = null;
      set.take(message);
    }
  }

  // The order is the list's own; the fields that decide it come with the others.
  const fields = select && [...new Set([...select, ...orderBy.map(fieldOf)])];
  const subscriber = {
    path: `${path}/subscribe${queryText({ filter, select: fields, include })}`,
    token() {
      list.overlays?.asking();
      return token;
    },
    receive,
  };
  const [store, setState] = createStore(state(), () => {
    const { all, opened } = openListsOf(transport);
    all.add(list);
    opened(list);
    const leave = connectionOf(transport).add(subscriber);
    return () => {
      leave();
      all.delete(list);
      list.overlays?.close();
      list.overlays = null;
    };
  });
  return {
    ...store,
    seed() {
      const { description, rows } = set;
      return description && token
        ? { ...description, items: [...rows.values()], ids: [...rows.keys()], token }
        : null;
    },
  };
}
