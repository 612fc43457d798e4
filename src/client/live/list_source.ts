import type { Handle } from "../request/handle.ts";
import { queryText } from "../request/query_text.ts";
import type { ServiceError } from "../request/service_error.ts";
import type { Transport } from "../request/transport.ts";
import type { FilterInput } from "../types/read_options.ts";
import { connectionOf } from "./live_connection.ts";
import type { LiveListState } from "./live_list_state.ts";
import type { LiveMessage, LiveSeed, LiveStatus, Subscriber } from "./live_messages.ts";
import { type OpenList, openListsOf, type ShownOverlays } from "./open_lists.ts";
import { fieldOf } from "./row_order.ts";
import { RowSet } from "./row_set.ts";
import { createStore, type Store } from "./store.ts";

/** The options of a live list as they are used, whatever its rows. */
export interface UntypedOptions {
  readonly filter?: FilterInput | undefined;
  readonly orderBy?: readonly string[] | undefined;
  readonly select?: readonly string[] | undefined;
  readonly include?: readonly string[] | undefined;
  readonly seed?: LiveSeed | undefined;
  readonly accepts?: ((row: never) => boolean) | undefined;
}

/** What feeds the store of a live list: its rows, the overlays over them, and its state. */
export class ListSource implements OpenList, Subscriber {
  readonly resource: string;
  readonly path: string;
  readonly set: RowSet;
  readonly accepts: ((row: never) => boolean) | undefined;
  readonly takesNew: boolean;
  overlays: ShownOverlays | null = null;
  readonly store: Store<LiveListState<object>>;
  readonly #setState: (state: LiveListState<object>) => void;
  #token: string | null = null;
  #status: LiveStatus = "connecting";
  #error: ServiceError | null = null;

  /** Begins with the rows of the seed, or without any. */
  constructor({ transport, path }: Handle, options: UntypedOptions) {
    const { orderBy = [], seed, filter, select, include, accepts } = options;
    // The order is the list's own; the fields that decide it come with the others.
    const fields = select && [...new Set([...select, ...orderBy.map(fieldOf)])];
    this.resource = path;
    this.path = `${path}/subscribe${queryText({ filter, select: fields, include })}`;
    this.set = new RowSet(orderBy);
    this.accepts = accepts;
    this.takesNew = !filter || !!accepts;
    if (seed !== undefined) {
      this.set.begin(seed, false);
      this.set.take({ ...seed, type: "existing" });
      this.set.commit();
      this.#token = seed.token;
    }
    [this.store, this.#setState] = createStore(this.#state(), () => this.#open(transport));
  }

  /** What a list in another process may continue after; null before the first rows. */
  seed(): LiveSeed | null {
    const { description, rows } = this.set;
    return description && this.#token
      ? { ...description, items: [...rows.values()], ids: [...rows.keys()], token: this.#token }
      : null;
  }

  token(): string | null {
    this.overlays?.asking();
    return this.#token;
  }

  receive(message: LiveMessage): void {
    this.overlays?.receive(message);
    if (message.type === "opened") this.set.begin(message, message.isResumed);
    else if (message.type === "token") {
      this.#token = message.token;
      this.set.commit();
      this.overlays?.confirm();
      this.#status = "live";
      this.#error = null;
      this.show();
    } else if (message.type === "status") {
      // Before its first rows a list is connecting, however often that takes.
      const isNew = message.status === "stale" && this.set.description === null;
      this.#status = isNew ? "connecting" : message.status;
      this.#error = message.error;
      this.show();
    } else if (message.type !== "aggregate") {
      if (message.type === "invalidate") this.#token = null;
      this.set.take(message);
    }
  }

  show(): void {
    this.#setState(this.#state());
  }

  #state(): LiveListState<object> {
    const { overlays, set } = this;
    return {
      items: overlays?.merged() ?? set.items,
      status: this.#status,
      pending: overlays?.count ?? 0,
      error: this.#error,
    };
  }

  #open(transport: Transport): () => void {
    const { all, opened } = openListsOf(transport);
    all.add(this);
    opened(this);
    const leave = connectionOf(transport).add(this);
    return () => {
      leave();
      all.delete(this);
      this.overlays?.close();
      this.overlays = null;
    };
  }
}
