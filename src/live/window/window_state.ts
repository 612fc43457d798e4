import {
  eventOf,
  invalidateText,
  resumeTokenText,
  toBytes,
} from "../dispatch/server_sent_events.ts";

export interface WindowRow {
  readonly json: string;
  /** The row's values by which the window is ordered. A value that is not exact is undefined. */
  readonly order: readonly unknown[];
}

/** The rows of a window by their ids as JSON, in the order of the database. */
export type WindowRows = ReadonlyMap<string, WindowRow>;

interface WindowStateOptions {
  readonly rows: WindowRows;
  readonly names: ReadonlyMap<string, string>;
  readonly limit: number;
  readonly seq: number;
  readonly token: string;
}

/** A window's rows at one position. Caches the messages that update clients from earlier states. */
export class WindowState {
  readonly #options: WindowStateOptions;
  readonly #bytes = new WeakMap<WindowState, Uint8Array>();

  constructor(options: WindowStateOptions) {
    this.#options = options;
  }

  /** Returns the next bytes. `sent` is the client's state or token, or null if it has no rows. */
  bytesAfter(sent: WindowState | string | null): Uint8Array {
    const { token, rows } = this.#options;
    const end = resumeTokenText(token);
    if (typeof sent === "string") {
      // The token of an empty window can be too old: the client may have rows, and must drop them.
      const isCurrent = sent === token && rows.size > 0;
      return toBytes(isCurrent ? end : invalidateText("window_reread") + this.#allRows() + end);
    }
    const known = this.#bytes.get(sent ?? this);
    if (known !== undefined) return known;
    const events = sent === null ? this.#allRows() : this.#changesAfter(sent.#options.rows);
    const bytes = toBytes(events + end);
    this.#bytes.set(sent ?? this, bytes);
    return bytes;
  }

  hasRows(rows: WindowRows): boolean {
    return this.#options.rows.size === rows.size && this.#changesAfter(rows) === "";
  }

  #allRows(): string {
    const { rows, limit } = this.#options;
    const items = [...rows.values()].map(({ json }) => json).join();
    const members = `"items":[${items}],"ids":[${[...rows.keys()].join()}],"hasMore":false`;
    return eventOf("existing", `${members},"limit":${limit}`);
  }

  #changesAfter(sent: WindowRows): string {
    const { rows, names, seq } = this.#options;
    const named = (members: string, id: string) => {
      const name = names.get(id);
      if (name === undefined) return members;
      return [members, `"_optimisticId":${JSON.stringify(name)}`].filter(Boolean).join();
    };
    const removed = [...sent.keys()].filter((id) => !rows.has(id));
    const changed = [...rows].filter(([id, { json }]) => sent.get(id)?.json !== json);
    return [
      ...removed.map((id) => eventOf("removed", named(`"seq":${seq},"id":${id}`, id))),
      ...changed.map(([id, { json }]) =>
        eventOf(
          sent.has(id) ? "changed" : "added",
          `"seq":${seq},"id":${id},"item":{${named(json.slice(1, -1), id)}}`,
        )
      ),
    ].join("");
  }
}
