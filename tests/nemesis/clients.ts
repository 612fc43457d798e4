/** The clients of the nemesis: requests over HTTP, and followers of live streams. */
import { EventSourceParser } from "../live/checker/event_source_parser.ts";
import type { Chance } from "../live/checker/chance.ts";
import { FollowedRows } from "../simulation/followed_rows.ts";
import type { ItemResponse } from "../simulation/item_requests.ts";
import type { Member } from "./fleet.ts";
import { sleep } from "../../src/runtime/runtime.ts";

/** After this time without a response, a request counts as wrong. */
const maxResponseMs = 40_000;

export interface SentRequest {
  readonly user: string;
  readonly body?: unknown;
  /** A body that is not JSON. */
  readonly text?: string;
  /** A status that only this request expects. */
  readonly expects?: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Sends requests, each on a connection of its own, and counts their outcomes. */
export class Requests implements Disposable {
  /** Called for a response that no fault explains. */
  readonly wrong: (text: string) => void;
  /** The longest wait for a response, in milliseconds. */
  slowestMs = 0;
  readonly #client: Deno.HttpClient;
  readonly #expected: ReadonlySet<number>;

  /** `more` are statuses of a proxy in front of the service. */
  constructor(
    wrong: (text: string) => void,
    { localAddress, more = [] }: {
      readonly localAddress?: string;
      readonly more?: readonly number[];
    } = {},
  ) {
    this.wrong = wrong;
    this.#expected = new Set([...expected, ...more]);
    this.#client = Deno.createHttpClient({
      poolMaxIdlePerHost: 0,
      ...(localAddress === undefined ? {} : { localAddress }),
    });
  }

  /**
   * Returns null if the connection broke or no response came. A connection that was never made is a
   * 503: the service has not executed the request.
   */
  async send(
    { url }: Pick<Member, "url">,
    method: string,
    path: string,
    { user, body, text: raw = JSON.stringify(body), expects, headers }: SentRequest,
  ): Promise<ItemResponse | null> {
    const beganAt = performance.now();
    try {
      const response = await fetch(url + path, {
        ...{ method, client: this.#client, signal: AbortSignal.timeout(maxResponseMs) },
        headers: { "x-user": user, "content-type": "application/json", ...headers },
        ...(raw === undefined ? {} : { body: raw }),
      });
      const { status } = response;
      const text = await response.text();
      this.slowestMs = Math.max(this.slowestMs, performance.now() - beganAt);
      // A server with a short time limit of statements ends even writes of one row.
      const isExpected = this.#expected.has(status) || status === expects ||
        text.includes("/query-too-expensive");
      if (!isExpected) this.wrong(`${method} ${path}: ${status} ${text}`);
      return { status, text };
    } catch (error) {
      if (error instanceof DOMException && error.name === "TimeoutError") {
        this.wrong(`${method} ${url}${path}: no response after ${maxResponseMs} ms`);
        return null;
      }
      if (!(error instanceof TypeError)) throw error;
      return String(error).includes("onnection refused")
        ? { status: 503, text: "connection refused" }
        : null;
    }
  }

  /** Opens a stream. Null if there is none. */
  async open(url: string, headers: Record<string, string>, signal: AbortSignal) {
    try {
      const response = await fetch(url, { client: this.#client, headers, signal });
      if (response.status === 200) return response.body;
      const text = await response.text();
      const isExpected = [429, 503].includes(response.status) ||
        (response.status > 500 && this.#expected.has(response.status)) ||
        text.includes("/query-too-expensive");
      if (!isExpected) this.wrong(`${url}: ${response.status} ${text}`);
      return null;
    } catch (error) {
      if (error instanceof TypeError || signal.aborted) return null;
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}

const expected: ReadonlySet<number> = new Set([200, 201, 204, 404, 409, 412, 429, 503]);

/** What a follower follows. */
export interface FollowerInterest {
  readonly user: string;
  readonly query: string;
  /** The path of the resource. Default: `/api/items`. */
  readonly path?: string;
}

/** A client of a live stream: it connects again to any member whenever its stream ends. */
export class Follower {
  readonly interest: FollowerInterest;
  readonly held = new FollowedRows();
  readonly #stopping = new AbortController();
  #leaving: AbortController | null = null;
  #state = "has not connected";
  #stateSince = performance.now();
  readonly #running: Promise<void>;

  constructor(interest: FollowerInterest, requests: Requests, member: () => Pick<Member, "url">) {
    this.interest = interest;
    this.#running = this.#follow(requests, member);
  }

  /** Says what the follower waits for, and for how long. */
  describe(): string {
    const ms = Math.round(performance.now() - this.#stateSince);
    return `${this.interest.user} ${this.interest.query}: ${this.#state} for ${ms} ms`;
  }

  /** Breaks the connection. The follower then connects again. */
  disconnect(): void {
    this.#leaving?.abort();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.disconnect();
    await this.#running;
  }

  async #follow(requests: Requests, member: () => Pick<Member, "url">): Promise<void> {
    const { user, query, path = "/api/items" } = this.interest;
    while (!this.#stopping.signal.aborted) {
      const leaving = this.#leaving = new AbortController();
      const { token } = this.held;
      const headers = { "x-user": user, ...(token === "" ? {} : { "last-event-id": token }) };
      const { url } = member();
      this.#enter(`waits for a response of ${url}`);
      const body = await requests.open(`${url}${path}/subscribe?${query}`, headers, leaving.signal);
      this.#enter("was refused");
      if (body !== null) {
        this.#enter(`reads a stream of ${url}`);
        this.held.connect();
        await this.#read(body, token, leaving.signal);
      }
      await sleep(100);
    }
  }

  #enter(state: string): void {
    this.#state = state;
    this.#stateSince = performance.now();
  }

  async #read(
    body: ReadableStream<Uint8Array>,
    token: string,
    signal: AbortSignal,
  ): Promise<void> {
    const parser = new EventSourceParser((block) => this.held.take(block), token);
    const left = Promise.withResolvers<null>();
    signal.addEventListener("abort", () => left.resolve(null));
    const reader = body.getReader();
    try {
      while (!signal.aborted) {
        const read = await Promise.race([reader.read(), left.promise]);
        if (read === null || read.done) break;
        parser.push(read.value);
      }
    } catch (error) {
      // The process was killed, or the follower has disconnected.
      if (!(error instanceof TypeError) && !(error instanceof DOMException)) throw error;
    }
    await reader.cancel().catch(() => {});
  }
}

/** The followers of a run. */
export function startFollowers(
  requests: Requests,
  members: readonly Member[],
  chance: Chance,
): readonly Follower[] {
  return interests.map((interest) => new Follower(interest, requests, () => chance.pick(members)));
}

const interests: readonly FollowerInterest[] = [
  { user: "root", query: "" },
  { user: "ada", query: "" },
  { user: "bob", query: "filter=rank>3" },
  { user: "ada", query: "filter=rank>3&include=project" },
  { user: "bob", query: "include=project" },
  { user: "root", query: "orderBy=-rank,id&limit=5" },
];
