import type { Handle } from "../../api/handle.ts";
import { queryString } from "../request/query_string.ts";
import type { FilterInput } from "../../api/read_options.ts";
import { connectionOf } from "./live_connection.ts";
import type { LiveListState } from "./live_list_state.ts";
import type { LiveSeed, Subscriber } from "./live_messages.ts";
import { type OpenList, openListsOf } from "./open_lists.ts";
import { sortFieldOf } from "./row_order.ts";
import { RowSet } from "./row_set.ts";
import { createStore, type Store, throwLater } from "./store.ts";

/** The options of a live list whose types do not depend on its rows. */
export interface UntypedListOptions {
  readonly filter?: FilterInput | undefined;
  readonly orderBy?: readonly string[] | undefined;
  readonly select?: readonly string[] | undefined;
  readonly include?: readonly string[] | undefined;
  readonly seed?: LiveSeed | undefined;
  readonly accepts?: ((row: never) => boolean) | undefined;
}

/** Creates a live list's store. The list starts with the rows of `seed`, if there is one. */
export function createLiveListStore(
  { transport, path }: Handle,
  { orderBy = [], seed, filter, select, include, accepts }: UntypedListOptions,
): readonly [Store<LiveListState<object>>, RowSet] {
  const lists = openListsOf(transport);
  const set = new RowSet(orderBy, seed);
  // The client sorts the rows, so the request must include the fields of `orderBy`.
  const fields = select && [...new Set([...select, ...orderBy.map(sortFieldOf)])];
  const list: OpenList & Subscriber = {
    resource: path,
    path: `${path}/subscribe${queryString({ filter, select: fields, include })}`,
    set,
    accepts,
    takesNew: !filter || !!accepts,
    token: () => set.token,
    receive: (message) =>
      guard(() => {
        set.take(message);
        lists.overlays?.receive(list, message);
        if (message.type === "token") show({ status: "live", error: null });
        else if (message.type === "status") {
          const { status, error } = message;
          // Before the first rows arrive, the status stays `connecting` even if the stream fails.
          show({ status: status === "stale" && !set.description ? "connecting" : status, error });
        }
      }),
    show: () => guard(() => show({})),
  };
  let leave = () => {};

  const first = { status: "connecting", error: null } as const;
  const [store, setState] = createStore<LiveListState<object>>(shown(first), () => {
    lists.all.add(list);
    leave = connectionOf(transport).add(list);
    return close;
  });

  function close(): void {
    leave();
    lists.all.delete(list);
    lists.overlays?.closed();
  }

  /** Runs `work`. If the set of rows or a function of the program throws, only this list closes. */
  function guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      // Without a token, a later subscription starts over with all rows.
      set.token = null;
      close();
      setState({ ...store.get(), status: "closed", error: null });
      throwLater(error);
    }
  }

  function shown(state: Pick<LiveListState, "status" | "error">): LiveListState<object> {
    return { ...state, items: set.items, pending: 0, ...lists.overlays?.shown(list) };
  }

  function show(changes: Partial<LiveListState>): void {
    setState(shown({ ...store.get(), ...changes }));
  }

  return [store, set];
}
