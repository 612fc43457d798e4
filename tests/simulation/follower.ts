import type { App } from "../../src/app/app.ts";
import { EventSourceParser } from "../live/checker/event_source_parser.ts";
import type { Scheduler } from "./scheduler.ts";

/** The list that a client follows. */
export interface Interest {
  readonly user: string;
  readonly query: string;
}

type Item = Readonly<Record<string, unknown>>;

/** A client of a live stream. It applies events to its rows, and checks each event. */
export class StreamFollower {
  readonly interest: Interest;
  readonly name: string;
  /** The rows that the client has, by id. */
  readonly rows = new Map<number, Item>();
  readonly faults: string[] = [];
  readonly #scheduler: Scheduler;
  readonly #story: string[] = [];
  readonly #seqs = new Map<number, number>();
  #token = "";
  #isSynced = false;
  /** True after a reconnection: the client may then receive events again. */
  #mayRepeat = false;
  /** Takes a share of the bytes that have been sent and not been read. Null if there are none. */
  #arriving: ((share: number) => void) | null = null;
  #leaving: AbortController | null = null;
  events = 0;

  constructor(interest: Interest, scheduler: Scheduler) {
    this.interest = interest;
    this.name = `${interest.user} ${interest.query}`;
    this.#scheduler = scheduler;
  }

  get isConnected(): boolean {
    return this.#leaving !== null;
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  get story(): readonly string[] {
    return this.#story;
  }

  /** Connects at the last position. Waits for nothing. */
  connect(app: App): void {
    const leaving = this.#leaving = new AbortController();
    this.#tell(`connects${this.#token === "" ? "" : " at a position"}`);
    if (this.#token === "") this.#startOver();
    else this.#mayRepeat = true;
    const ended = (error: unknown) => {
      if (this.#leaving !== leaving) return;
      this.#leaving = null;
      if (error !== null) this.faults.push(`the stream failed: ${error}`);
      this.#tell("ends");
    };
    this.#follow(app, leaving.signal).then(() => ended(null), ended);
  }

  /** Disconnects. The client receives the given share of the bytes that are under way. */
  disconnect(share = 0): void {
    this.#arriving?.(share);
    this.#arriving = null;
    this.#tell("disconnects");
    this.#leaving?.abort();
    this.#leaving = null;
  }

  async #follow(app: App, signal: AbortSignal): Promise<void> {
    const headers: Record<string, string> = { "x-user": this.interest.user };
    if (this.#token !== "") headers["last-event-id"] = this.#token;
    await this.#scheduler.pass("request", `subscribe ${this.name}`);
    const url = `http://test/api/items/subscribe?${this.interest.query}`;
    const response = await app.fetch(new Request(url, { headers, signal }));
    this.#scheduler.noteActivity();
    if (response.status !== 200 || response.body === null) {
      const text = await response.text();
      if (![429, 503].includes(response.status)) this.faults.push(`refused: ${text}`);
      return;
    }
    const reader = response.body.getReader();
    const leave = () => reader.cancel().catch(() => {});
    if (signal.aborted) return await leave();
    signal.addEventListener("abort", leave);
    const parser = new EventSourceParser((block) => {
      if (block.event === null) {
        if (block.hasId) this.#token = block.lastEventId;
        this.#tell(block.hasId ? "position" : "comment");
      } else this.#take(block.event.type, block.event.data);
    }, this.#token);
    while (!signal.aborted) {
      const { value, done } = await reader.read();
      this.#scheduler.noteActivity();
      if (done) return;
      const arriving = this.#arriving = (share: number) =>
        parser.push(value.subarray(0, Math.floor(value.length * share)));
      await this.#scheduler.pass("client", `reads ${this.name}`);
      if (signal.aborted || this.#arriving !== arriving) return;
      this.#arriving = null;
      parser.push(value);
    }
  }

  #take(type: string, text: string): void {
    this.events++;
    this.#tell(text);
    const data: Item = JSON.parse(text);
    if (type === "invalidate") return this.#startOver();
    if (type === "existing") {
      // A page contains a list of rows.
      for (const item of data["items"] as readonly Item[]) {
        const id = Number(item["id"]);
        if (this.rows.has(id) && !this.#mayRepeat) this.#fault(`existing ${id} again`);
        this.rows.set(id, item);
      }
      if (data["hasMore"] === false) this.#isSynced = true;
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
    this.#isSynced = false;
    this.#mayRepeat = false;
    this.#token = "";
  }

  #fault(text: string): void {
    this.faults.push(text);
  }

  #tell(line: string): void {
    this.#story.push(line);
    this.#scheduler.trace?.(`    ${this.name}: ${line}`);
  }
}
