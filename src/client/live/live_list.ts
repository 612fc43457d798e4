import { handle, type HasHandle } from "../../api/handle.ts";
import type { ApiResource } from "../../api/api.ts";
import type { FilterInput, OrderInput } from "../../api/read_options.ts";
import type { ResourceClient } from "../../api/resource_client.ts";
import type { FieldOf, IncludeOf, RowOf } from "../../api/rows.ts";
import type { LiveListState } from "./live_list_state.ts";
import { createLiveListStore, type UntypedListOptions } from "./list_source.ts";
import type { LiveRow, LiveSeed } from "./live_messages.ts";
import type { Store } from "./store.ts";

/** The query of a live list: filter, order, fields and included rows. */
export interface LiveListQuery<
  R extends ApiResource = ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
> {
  /** The filter, as in a list request. */
  readonly filter?: FilterInput | undefined;
  /** The order, as in a list request. NULL comes last. The primary key orders equal rows. */
  readonly orderBy?: readonly OrderInput<FieldOf<R>>[] | undefined;
  /** The requested fields. Fields of `orderBy` are always added. Default: all fields. */
  readonly select?: readonly Fields[] | undefined;
  /** Related rows to include. */
  readonly include?: readonly Included[] | undefined;
}

/** The query of a live list, its initial rows, and which unconfirmed rows it shows. */
export interface LiveListOptions<
  R extends ApiResource = ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
> extends LiveListQuery<R, Fields, Included> {
  /** The result of `prefetch`, for instance from a server. The list continues after these rows. */
  readonly seed?: LiveSeed | undefined;
  /**
   * Returns true if a new or changed row, whose write is unconfirmed, belongs to the list. Default:
   * new rows belong to a list without a filter, and changed rows stay in the list.
   */
  readonly accepts?: ((row: R["row"]) => boolean) | undefined;
}

/** A live list of rows. It has an open stream while the program listens to it. */
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
>(
  resource: ResourceClient<R>,
  options?: LiveListOptions<R, Fields, Included>,
): LiveList<RowOf<R, Fields, Included>>;
export function liveList(resource: HasHandle, options: UntypedListOptions = {}): LiveList<object> {
  const [store, set] = createLiveListStore(resource[handle], options);
  return {
    ...store,
    seed() {
      const { description, rows, token } = set;
      return description && token
        ? { ...description, items: [...rows.values()], ids: [...rows.keys()], token }
        : null;
    },
  };
}
