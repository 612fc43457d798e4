import type { App } from "../../src/app/app.ts";
import { EventSourceParser } from "../live/checker/event_source_parser.ts";
import { FollowedRows } from "./followed_rows.ts";
import type { Scheduler } from "./scheduler.ts";

/** The list that a client follows. */
export interface Interest {
  readonly user: string;
  readonly query: string;
}

/** A client of a live stream, whose every step the scheduler decides. */
export class StreamFollower {
  readonly interest: Interest;
  readonly name: string;
  readonly #scheduler: Scheduler;
  readonly #story: string[] = [];
  readonly #held = new FollowedRows();
  /** Takes a share of the bytes that have been sent and not been read. Null if there are none. */
  #arriving: ((share: number) => void) | null = null;
  #leaving: AbortController | null = null;

  constructor(interest: Interest, scheduler: Scheduler) {
    this.interest = interest;
    this.name = `${interest.user} ${interest.query}`;
    this.#scheduler = scheduler;
  }

  get isConnected(): boolean {
    return this.#leaving !== null;
  }

  get isSynced(): boolean {
    return this.#held.isSynced;
  }

  get rows(): FollowedRows["rows"] {
    return this.#held.rows;
  }

  get faults(): string[] {
    return this.#held.faults;
  }

  get events(): number {
    return this.#held.events;
  }

  get story(): readonly string[] {
    return this.#story;
  }

  /** Connects at the last position. Waits for nothing. */
  connect(app: App): void {
    const leaving = this.#leaving = new AbortController();
    this.#tell(`connects${this.#held.token === "" ? "" : " at a position"}`);
    this.#held.connect();
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
    const { token } = this.#held;
    if (token !== "") headers["last-event-id"] = token;
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
      this.#tell(block.event?.data ?? (block.hasId ? "position" : "comment"));
      this.#held.take(block);
    }, token);
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

  #tell(line: string): void {
    this.#story.push(line);
    this.#scheduler.trace?.(`    ${this.name}: ${line}`);
  }
}
