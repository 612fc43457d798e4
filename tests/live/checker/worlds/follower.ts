import type { App } from "../../../../src/app/app.ts";
import { type Block, EventSourceParser } from "../event_source_parser.ts";
import type { Findings } from "./findings.ts";
import { type Interest, queryOf } from "./interests.ts";

/** What every client is made of. */
export interface FollowerOptions {
  readonly findings: Findings;
  /** Makes what changes the text of a stream on its way, where something is to be wrong. */
  readonly wire?: () => (text: string) => string;
}

/** A client that keeps its stream open, and takes its events. */
export abstract class Follower {
  /** Who it is, in words. */
  abstract readonly name: string;
  /** Where it sends its requests. */
  protected abstract readonly path: string;
  protected abstract readonly user: string;
  protected readonly findings: Findings;
  /** Where it resumes. */
  token = "";
  /** The number of its events. */
  count = 0;
  /** How often something came. */
  blocks = 0;
  readonly #wire: ((text: string) => string) | null;
  #stop: (() => void) | null = null;
  /** What has come and was not looked at. */
  #unread: (() => void)[] = [];
  #paused: PromiseWithResolvers<void> | null = null;

  /** Is away. */
  constructor({ findings, wire }: FollowerOptions) {
    this.findings = findings;
    this.#wire = wire?.() ?? null;
  }

  /** Whether it has a connection, or makes one. */
  get isConnected(): boolean {
    return this.#stop !== null;
  }

  /** Opens a stream with what it knows. Waits for nothing. */
  connect(app: App): void {
    // What an earlier connection has brought before it ended.
    this.digest();
    const leaving = new AbortController();
    const stop = () => leaving.abort();
    this.#stop = stop;
    this.begin();
    const ended = () => {
      if (this.#stop === stop) this.#stop = null;
    };
    this.#follow(app, leaving.signal).then(ended, (error) => {
      if (!leaving.signal.aborted) this.findings.add("opens", `${this.name}: ${error}`);
      ended();
    });
  }

  /** Goes away, in the middle of whatever comes. */
  disconnect(): void {
    this.#stop?.();
    this.#stop = null;
    this.resume();
  }

  /** Looks at what has come: not while a commit is made that the history does not know yet. */
  digest(): void {
    const some = this.#unread;
    this.#unread = [];
    for (const look of some) look();
  }

  /** Reads nothing more. */
  pause(): void {
    this.#paused ??= Promise.withResolvers();
  }

  /** Reads on. */
  resume(): void {
    this.#paused?.resolve();
    this.#paused = null;
  }

  /** A connection begins. */
  protected abstract begin(): void;
  /** A block has come. */
  protected abstract take(block: Block): void;

  async #follow(app: App, signal: AbortSignal): Promise<void> {
    const headers: Record<string, string> = { "x-user": this.user };
    if (this.token !== "") headers["last-event-id"] = this.token;
    const response = await app.fetch(
      new Request(`http://test${this.path}`, { headers, signal }),
    );
    if (response.status !== 200 || response.body === null) {
      const text = await response.text();
      // The service is overloaded, or the database is away: it tries again.
      if (![429, 503].includes(response.status)) {
        this.findings.add("opens", `${this.name} is answered ${response.status} ${text}`);
      }
      return;
    }
    const reader = response.body.getReader();
    const leave = () => reader.cancel().catch(() => {});
    if (signal.aborted) return await leave();
    signal.addEventListener("abort", leave);
    const parser = new EventSourceParser((block) => {
      if (!signal.aborted) this.take(block);
    }, this.token);
    while (!signal.aborted) {
      await this.#paused?.promise;
      const { value, done } = await reader.read();
      if (done) return;
      this.blocks++;
      const bytes = this.#wire === null
        ? value
        : new TextEncoder().encode(this.#wire(new TextDecoder().decode(value)));
      this.#unread.push(() => parser.push(bytes));
    }
  }
}

/** Where the rows of an interest are requested. */
export function listPath(interest: Interest): string {
  return `/api/${interest.place}?limit=100&${queryOf(interest)}`.replace(/&$/, "");
}
