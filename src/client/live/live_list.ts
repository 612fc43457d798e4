import { handle, type HasHandle } from "../../api/handle.ts";
import type { ApiResource } from "../../api/api.ts";
import type { FilterInput, OrderInput } from "../../api/read_options.ts";
import type { ResourceClient } from "../../api/resource_client.ts";
import type { FieldOf, IncludeOf, RowOf } from "../../api/rows.ts";
import type { LiveListState } from "./live_list_state.ts";
import { createListSource, type UntypedOptions } from "./list_source.ts";
import type { LiveRow, LiveSeed } from "./live_messages.ts";
import type { Store } from "./store.ts";

/** Which rows a live list has, and how. */
export interface LiveListQuery<
  R extends ApiResource = ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
> {
  /** As in a list. */
  readonly filter?: FilterInput | undefined;
  /** As in a list; nulls come last, and the key decides the rest. */
  readonly orderBy?: readonly OrderInput<FieldOf<R>>[] | undefined;
  /** These fields alone, beside those of `orderBy`. */
  readonly select?: readonly Fields[] | undefined;
  /** These related rows as well. */
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
   * Returns true if a row that is not confirmed yet belongs to the list. Unset, new rows show where the list
   * has no filter, and changed rows stay.
   */
  readonly accepts?: ((row: R["row"]) => boolean) | undefined;
}

/** A live list: a store of rows, open while it has listeners. */
export interface LiveList<Row = LiveRow> extends Store<LiveListState<Row>> {
  /** What a list in another process may continue after; null before the first rows. */
  seed(): LiveSeed | null;
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
  const [store, set] = createListSource(resource[handle], options);
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
