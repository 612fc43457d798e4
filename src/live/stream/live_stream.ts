import type { DescribedFilter } from "../../filter/match/described_filter.ts";
import type { Position } from "../../db/changes/log_position.ts";
import { databaseProblem } from "../../db/database_error.ts";
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
import type { LiveQuery } from "../live_view.ts";
import { randomDelayBetween } from "../../runtime/runtime.ts";

/** The destination of a live stream's bytes: a `ReadableStream` controller or a substitute. */
export interface StreamSink
  extends Pick<ReadableStreamDefaultController<Uint8Array>, "desiredSize" | "enqueue"> {
  /** Ends the stream. The client of a multiplexed stream also receives the problem. */
  close(problem?: Problem): void;
}

/** Base class of live streams, without closures and timers, which would need memory per stream. */
export abstract class LiveStream {
  protected readonly context: StreamContext;
  readonly #ended: (stream: LiveStream) => void;
  #controller: StreamSink | null = null;
  #isClosed = false;
  /** Monotonic time at which the credential of the request expires. */
  #expiresAt = Infinity;
  #opening: string;

  /** `ended` is called once, however the stream ends. */
  constructor(context: StreamContext, ended: (stream: LiveStream) => void) {
    this.context = context;
    this.#ended = ended;
    // Some proxies and clients wait for the first bytes, so these are sent immediately.
    this.#opening = `${retryText(randomDelayBetween(context.runtime, 1_000, 5_000))}${commentText}`;
  }

  abstract get query(): LiveQuery;

  abstract get isLive(): boolean;

  abstract pull(): Promise<void> | undefined;

  abstract switchQuery(query: LiveQuery, reason: InvalidationReason): void;

  /** Makes the client discard its rows, and sends all rows again. */
  abstract invalidate(reason: InvalidationReason): void;

  /** Does what {@link invalidate} does, but never sends pages that were read for other streams. */
  restart(reason: InvalidationReason): void {
    this.context.snapshots.forgetPages();
    this.invalidate(reason);
  }

  /** Sends a heartbeat. `trailerOf` returns bytes that all live streams of a group append. */
  heartbeat(_trailerOf: (group: SubscriberGroup) => Uint8Array): void {
    if (this.hasRoom()) this.send(commentText);
  }

  tokenAt(_position: Position): string {
    return "";
  }

  /** Leaves the subscriber group or shared aggregate. Called once, when the stream ends. */
  protected abstract release(): void;

  expireAt(at: number): void {
    this.#expiresAt = at;
  }

  expire(): void {
    // If the expiry stayed set, `send` would refuse this last event of the expired credential.
    this.#expiresAt = Infinity;
    this.end(invalidateText("auth_expired"));
  }

  start(controller: StreamSink): void {
    this.#controller = controller;
    this.send(this.#opening);
    this.#opening = "";
  }

  cancel(): void {
    this.#close();
  }

  fail(error: unknown): void {
    if (this.#isClosed) return;
    const problem = databaseProblem(error, "read");
    if (problem instanceof Problem && problem.slug === "overloaded") {
      return this.end(retryText(overloadRetryMs));
    }
    if (problem instanceof Problem && problem.slug === "query-too-expensive") {
      // The long delay makes the client wait: an immediate reconnect would cause the same cost.
      const text = invalidateText("query_too_expensive") + retryText(expensiveRetryMs);
      return this.end(text, problem.withHeaders({ "retry-after": `${expensiveRetryMs / 1_000}` }));
    }
    const { resource } = this.query;
    this.context.runtime.observe({ kind: "stream_failed", resource, error });
    this.end("");
  }

  end(finalText: string, problem?: Problem): void {
    if (this.#isClosed) return;
    if (finalText !== "") this.send(finalText);
    // If the client has just disconnected, Deno has cancelled this stream during the send.
    if (this.#isClosed) return;
    this.#close();
    this.#controller?.close(problem);
  }

  protected get isClosed(): boolean {
    return this.#isClosed;
  }

  protected hasRoom(): boolean {
    // The controller of a closed stream reports room although its bytes are unread.
    return !this.#isClosed && (this.#controller?.desiredSize ?? 0) > 0;
  }

  protected send(text: string): void {
    if (this.#controller === null) this.#opening += text;
    else this.enqueue(toBytes(text));
  }

  protected enqueue(bytes: Uint8Array): void {
    if (this.#isClosed) return;
    const at = this.#expiresAt;
    // The expiry timer can be late, so `enqueue` also checks the time if the stream can expire.
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

/** Ends a stream on disconnect: a middleware that wraps the body can lose the cancellation. */
export function endOnDisconnect(disconnected: Promise<unknown>, stream: LiveStream): void {
  const end = () => stream.end("");
  disconnected.then(end, end);
}

const expensiveRetryMs = 60_000;
const overloadRetryMs = 5_000;

/** The part of a multiplexed stream (one response for several streams) that carries one stream. */
export interface StreamPart {
  /** Returns the monotonic time at which all parts end: the first `proposed` of any part. */
  endsAt(proposed: number): number;
  /** Starts a stream. `filter` describes the filter of the request, or is null if there is none. */
  attach(
    stream: LiveStream,
    end: (delayMs: number) => void,
    filter: DescribedFilter | null,
  ): void;
  endWhole(delayMs: number): void;
}
