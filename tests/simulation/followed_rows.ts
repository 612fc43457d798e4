import type { Block } from "../live/checker/event_source_parser.ts";

type Item = Readonly<Record<string, unknown>>;

/** The rows of a client of a live stream. It applies events to its rows, and checks each event. */
export class FollowedRows {
  /** The rows that the client has, by id. */
  readonly rows = new Map<number, Item>();
  readonly faults: string[] = [];
  readonly #seqs = new Map<number, number>();
  /** The position that the client sends when it connects again. */
  token = "";
  /** True after the last page of a snapshot. */
  isSynced = false;
  /** True after a reconnection: the client may then receive events again. */
  #mayRepeat = false;
  events = 0;

  /** Begins a connection. */
  connect(): void {
    if (this.token === "") this.#startOver();
    else this.#mayRepeat = true;
  }

  take({ event, lastEventId, hasId }: Block): void {
    if (event !== null) this.#take(event.type, event.data);
    else if (hasId) this.token = lastEventId;
  }

  #take(type: string, text: string): void {
    this.events++;
    const data: Item = JSON.parse(text);
    if (type === "invalidate") return this.#startOver();
    if (type === "existing") {
      // A page contains a list of rows.
      for (const item of data["items"] as readonly Item[]) {
        const id = Number(item["id"]);
        if (this.rows.has(id) && !this.#mayRepeat) this.#fault(`existing ${id} again`);
        this.rows.set(id, item);
      }
      if (data["hasMore"] === false) this.isSynced = true;
      return;
    }
    // The member `item` of a change is a row.
    const item = data["item"] as Item | undefined;
    const id = Number(data["id"] ?? item?.["id"]);
    const seq = Number(data["seq"]);
    const known = this.#seqs.get(id) ?? -1;
    if (seq <= known) {
      if (!this.#mayRepeat) this.#fault(`${type} ${id} has ${seq} after ${known}`);
      return;
    }
    this.#seqs.set(id, seq);
    const isHeld = this.rows.has(id);
    if (isHeld === (type === "added") && !this.#mayRepeat) {
      this.#fault(`${type} ${id}, held: ${isHeld}`);
    }
    if (item === undefined) this.rows.delete(id);
    else this.rows.set(id, item);
  }

  #startOver(): void {
    this.rows.clear();
    this.#seqs.clear();
    this.isSynced = false;
    this.#mayRepeat = false;
    this.token = "";
  }

  #fault(text: string): void {
    this.faults.push(text);
  }
}
