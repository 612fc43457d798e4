import type { Position } from "../../db/changes/log_position.ts";
import { databaseProblem } from "../../db/database_problem.ts";
import { Problem } from "../../problem/problem.ts";
import type { StreamContext } from "../stream_context.ts";
import {
  commentText,
  invalidateText,
  type InvalidationReason,
  retryText,
  toBytes,
} from "../dispatch/server_sent_events.ts";
import type { SubscriberGroup } from "../dispatch/subscriber_group.ts";
import type { LiveQuery } from "../live_query.ts";
import { jitteredBetween } from "../../runtime/jitter.ts";

/** Where a live stream sends its bytes: the controller of a `ReadableStream`, or what acts as one. */
export type StreamSink = Pick<
  ReadableStreamDefaultController<Uint8Array>,
  "desiredSize" | "enqueue" | "close"
>;

/**
 * The base class of live streams: one stream of events to a client, from its first byte to its
 * last. It is the underlying source of its `ReadableStream` itself, because a stream has to be
 * cheap: no closures, no timers.
 */
export abstract class LiveStream {
  protected readonly context: StreamContext;
  readonly #ended: (stream: LiveStream) => void;
  #controller: StreamSink | null = null;
  #isClosed = false;
  /** When the credentials of its request expire, by the monotonic clock. */
  #expiresAt = Infinity;
  /** The text to send once the stream is read. */
  #opening: string;

  /** `ended` is called once, however the stream ends. */
  constructor(context: StreamContext, ended: (stream: LiveStream) => void) {
    this.context = context;
    this.#ended = ended;
    // The first bytes are sent at once: some proxies, and some clients, wait for them.
    this.#opening = `${retryText(jitteredBetween(context.runtime, 1_000, 5_000))}${commentText}`;
  }

  /** The rows that it follows. */
  abstract get query(): LiveQuery;

  /** True if its client has been sent all that the feed has published. */
  abstract get isLive(): boolean;

  /** Called by the `ReadableStream` whenever it has room. */
  abstract pull(): Promise<void> | undefined;

  /** Follows other rows from now on. */
  abstract switchQuery(query: LiveQuery, reason: InvalidationReason): void;

  /** Sends a heartbeat; `trailerOf` gives the resume token of the live subscribers of a group. */
  abstract heartbeat(trailerOf: (group: SubscriberGroup) => Uint8Array): void;

  /** The token of a position, which the feed has reached; empty where this stream has not. */
  abstract tokenAt(position: Position): string;

  /** Leaves the groups of the context. Called once. */
  protected abstract release(): void;

  /** Sends nothing more from a moment of the monotonic clock on. */
  expireAt(at: number): void {
    this.#expiresAt = at;
  }

  /** Ends because the caller's credentials or rights have ended. */
  expire(): void {
    // The last event is sent all the same.
    this.#expiresAt = Infinity;
    this.end(invalidateText("auth_expired"));
  }

  /** Called by the `ReadableStream`. */
  start(controller: StreamSink): void {
    this.#controller = controller;
    this.send(this.#opening);
    this.#opening = "";
  }

  /** Called by the `ReadableStream` when its reader is gone. */
  cancel(): void {
    this.#close();
  }

  /** Ends because of an error of ours, or because its reads cost too much. */
  fail(error: unknown): void {
    if (this.#isClosed) return;
    const problem = databaseProblem(error, "read");
    const slug = problem instanceof Problem ? problem.slug : null;
    if (slug === "overloaded") return this.end(retryText(overloadRetryMs));
    if (slug === "query-too-expensive") {
      // A client that reconnects by itself would cost the same again.
      return this.end(invalidateText("query_too_expensive") + retryText(expensiveRetryMs));
    }
    const { resource } = this.query;
    this.context.runtime.observe({ kind: "stream_failed", resource, error });
    this.end("");
  }

  /** Sends a last text, and ends. */
  end(finalText: string): void {
    if (this.#isClosed) return;
    if (finalText !== "") this.send(finalText);
    // Where the client has just disconnected, Deno cancels the stream during the send.
    if (this.#isClosed) return;
    this.#close();
    this.#controller?.close();
  }

  protected get isClosed(): boolean {
    return this.#isClosed;
  }

  protected hasRoom(): boolean {
    // A controller that was closed with bytes unread still reports room.
    return !this.#isClosed && (this.#controller?.desiredSize ?? 0) > 0;
  }

  protected send(text: string): void {
    if (this.#controller === null) this.#opening += text;
    else this.enqueue(toBytes(text));
  }

  protected enqueue(bytes: Uint8Array): void {
    if (this.#isClosed) return;
    const at = this.#expiresAt;
    // The expiry timer may be late. Most streams never expire, and need no look at the clock.
    if (at !== Infinity && at <= this.context.runtime.clock.elapsedMs()) return this.expire();
    this.#controller?.enqueue(bytes);
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.release();
    this.#ended(this);
  }
}

/**
 * Ends a stream once its client has left: a middleware that drops the response, or wraps it badly,
 * does not cancel its stream.
 */
export function endWhen(disconnected: Promise<unknown>, stream: LiveStream): void {
  const end = () => stream.end("");
  disconnected.then(end, end);
}

const expensiveRetryMs = 60_000;
const overloadRetryMs = 5_000;
