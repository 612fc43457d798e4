import type { Position } from "../../db/changes/change_log.ts";
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

/**
 * One stream, from its first byte to its last, whatever it tells. It is the source of its own
 * stream, because a stream has to be cheap: no closures, no timers.
 */
export abstract class LiveStream {
  protected readonly context: StreamContext;
  readonly #ended: (stream: LiveStream) => void;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  #isClosed = false;
  /** When its caller's credentials end, by the clock that never jumps. */
  #expiresAt = Infinity;
  /** What is said before anybody reads. */
  #opening: string;

  /** `ended` is called once, whoever ends it. */
  constructor(context: StreamContext, ended: (stream: LiveStream) => void) {
    this.context = context;
    this.#ended = ended;
    // The first bytes go at once: some proxies, and some clients, wait for them.
    this.#opening = `${retryText(jitteredBetween(context.runtime, 1_000, 5_000))}${commentText}`;
  }

  /** Which rows are followed. */
  abstract get query(): LiveQuery;

  /** Whether its client knows of all that the feed has published. */
  abstract get isLive(): boolean;

  /** Called by the stream whenever it has room. */
  abstract pull(): Promise<void> | undefined;

  /** Follows other rows from now on. */
  abstract switchQuery(query: LiveQuery, reason: InvalidationReason): void;

  /** A sign of life; `trailerOf` gives the token of where the live readers of a group stand. */
  abstract heartbeat(trailerOf: (group: SubscriberGroup) => Uint8Array): void;

  /** The token for a client who knows of all up to a position; empty where this one does not. */
  abstract tokenAt(position: Position): string;

  /** Gives up what it has of the channel. Called once. */
  protected abstract release(): void;

  /** Sends nothing more from that moment on, by the clock that never jumps. */
  expireAt(at: number): void {
    this.#expiresAt = at;
  }

  /** Ends because its caller's right has. */
  expire(): void {
    // What it says last is said all the same.
    this.#expiresAt = Infinity;
    this.end(invalidateText("auth_expired"));
  }

  /** Called by the stream. */
  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
    this.send(this.#opening);
    this.#opening = "";
  }

  /** Called by the stream when nobody reads it any more. */
  cancel(): void {
    this.#close();
  }

  /** Ends because of an error of ours. */
  fail(error: unknown): void {
    if (this.#isClosed) return;
    const { resource } = this.query;
    this.context.runtime.observe({ kind: "stream_failed", resource, error });
    this.end("");
  }

  /** Says something last, and ends. */
  end(finalText: string): void {
    if (this.#isClosed) return;
    if (finalText !== "") this.send(finalText);
    // Where its client has just left, Deno cancels the stream while it is sent to.
    if (this.#isClosed) return;
    this.#close();
    this.#controller?.close();
  }

  protected get isClosed(): boolean {
    return this.#isClosed;
  }

  protected hasRoom(): boolean {
    // One that was closed with bytes unread has room still.
    return !this.#isClosed && (this.#controller?.desiredSize ?? 0) > 0;
  }

  protected send(text: string): void {
    if (this.#controller === null) this.#opening += text;
    else this.enqueue(toBytes(text));
  }

  protected enqueue(bytes: Uint8Array): void {
    if (this.#isClosed) return;
    const at = this.#expiresAt;
    // A timer may be late, and most streams have no such moment.
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
