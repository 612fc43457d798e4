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
import { randomDelayBetween } from "../../runtime/jitter.ts";

/** The destination of a live stream's bytes: a `ReadableStream` controller or a substitute. */
export type StreamSink = Pick<
  ReadableStreamDefaultController<Uint8Array>,
  "desiredSize" | "enqueue" | "close"
>;

/**
 * The base class of live streams: one stream of events to a client, from its first byte to its
 * last. The object is itself the underlying source of its `ReadableStream`. The object needs no
 * closures and no timers, because there are many streams.
 */
export abstract class LiveStream {
  protected readonly context: StreamContext;
  readonly #ended: (stream: LiveStream) => void;
  #controller: StreamSink | null = null;
  #isClosed = false;
  /** Time at which the credentials of the request expire, by the monotonic clock. */
  #expiresAt = Infinity;
  /** The text to send once the stream is read. */
  #opening: string;

  /** `ended` is called once when the stream ends for any reason. */
  constructor(context: StreamContext, ended: (stream: LiveStream) => void) {
    this.context = context;
    this.#ended = ended;
    // The first bytes are sent immediately, because some proxies and clients wait for them.
    this.#opening = `${retryText(randomDelayBetween(context.runtime, 1_000, 5_000))}${commentText}`;
  }

  /** The query of the rows whose changes the stream sends. */
  abstract get query(): LiveQuery;

  /** True if the stream has sent everything that the feed has published. */
  abstract get isLive(): boolean;

  /** Called by the `ReadableStream` whenever its queue has room. */
  abstract pull(): Promise<void> | undefined;

  /** Sends the rows of another query, and their changes, from now on. */
  abstract switchQuery(query: LiveQuery, reason: InvalidationReason): void;

  /** Makes the stream read its rows again. */
  abstract invalidate(reason: InvalidationReason): void;

  /** Makes the stream read its rows again, without pages that other streams have read before. */
  restart(reason: InvalidationReason): void {
    this.context.snapshots.forgetPages();
    this.invalidate(reason);
  }

  /** Sends a heartbeat; `trailerOf` returns the resume token for a group's live subscribers. */
  abstract heartbeat(trailerOf: (group: SubscriberGroup) => Uint8Array): void;

  /** Returns the resume token of a feed position. Empty if this stream has not reached it. */
  abstract tokenAt(position: Position): string;

  /** Leaves the groups of the context. Called once. */
  protected abstract release(): void;

  /** Makes the stream stop sending at a time of the monotonic clock. */
  expireAt(at: number): void {
    this.#expiresAt = at;
  }

  /** Ends the stream because the caller's credentials or rights have ended. */
  expire(): void {
    // The last event is sent in spite of the expiry.
    this.#expiresAt = Infinity;
    this.end(invalidateText("auth_expired"));
  }

  /** Called by the `ReadableStream`. */
  start(controller: StreamSink): void {
    this.#controller = controller;
    this.send(this.#opening);
    this.#opening = "";
  }

  /** Called by the `ReadableStream` when its reader has disconnected. */
  cancel(): void {
    this.#close();
  }

  /** Ends the stream because of an internal error, or because its reads are too expensive. */
  fail(error: unknown): void {
    if (this.#isClosed) return;
    const problem = databaseProblem(error, "read");
    const slug = problem instanceof Problem ? problem.slug : null;
    if (slug === "overloaded") return this.end(retryText(overloadRetryMs));
    if (slug === "query-too-expensive") {
      // A client that reconnects automatically would cause the same costs again.
      return this.end(invalidateText("query_too_expensive") + retryText(expensiveRetryMs));
    }
    const { resource } = this.query;
    this.context.runtime.observe({ kind: "stream_failed", resource, error });
    this.end("");
  }

  /** Sends a last text and ends the stream. */
  end(finalText: string): void {
    if (this.#isClosed) return;
    if (finalText !== "") this.send(finalText);
    // If the client has just disconnected, Deno cancels the stream during the send.
    if (this.#isClosed) return;
    this.#close();
    this.#controller?.close();
  }

  protected get isClosed(): boolean {
    return this.#isClosed;
  }

  protected hasRoom(): boolean {
    // A controller that was closed with unread bytes still reports room.
    return !this.#isClosed && (this.#controller?.desiredSize ?? 0) > 0;
  }

  protected send(text: string): void {
    if (this.#controller === null) this.#opening += text;
    else this.enqueue(toBytes(text));
  }

  protected enqueue(bytes: Uint8Array): void {
    if (this.#isClosed) return;
    const at = this.#expiresAt;
    // The expiry timer may be late. Most streams never expire, so the clock is not read for them.
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
 * Ends a stream when its client disconnects. This is necessary, because a middleware that drops the
 * response or wraps it incorrectly does not cancel the stream.
 */
export function endOnDisconnect(disconnected: Promise<unknown>, stream: LiveStream): void {
  const end = () => stream.end("");
  disconnected.then(end, end);
}

const expensiveRetryMs = 60_000;
const overloadRetryMs = 5_000;
