import type { ProblemBody } from "../../protocol/problem_codes.ts";
import { commentText, eventText, toBytes } from "../dispatch/server_sent_events.ts";
import {
  MultiplexedPart,
  type MultiplexedWriter,
  type SubscriptionRowDescription,
} from "./multiplexed_part.ts";

export interface SubscriptionRefusal {
  readonly status: number;
  readonly problem: ProblemBody;
  /** The client's delay before it tries again, in seconds; null if there is none. */
  readonly retryAfter: number | null;
  /** The headers of a challenge (proof of work or CAPTCHA) that the client must solve. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A multiplexed stream: the live streams of several subscriptions in one response, for one client.
 * It is the underlying source of its `ReadableStream`. It sends the bytes of the live streams
 * unchanged; an event between them names the subscription of the following events. While the client
 * does not read, each subscription keeps only a position and at most one chunk.
 */
export class MultiplexedStream implements MultiplexedWriter {
  /** The parts that are open: neither refused nor ended. */
  readonly #parts = new Map<string, MultiplexedPart>();
  readonly #whenClosed: () => void;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  /** The part whose subscription the last `subscription` event has named. */
  #current: MultiplexedPart | null = null;
  #isClosed = false;
  #isEnding = false;
  #isSending = false;
  #endsAt: number | null = null;
  /** Index of the part to pull first in the next round, so that each is first in turn. */
  #turn = 0;

  /** `whenClosed` is called once, however the stream ends. */
  constructor(whenClosed: () => void) {
    this.#whenClosed = whenClosed;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get room(): number {
    return this.#isClosed ? 0 : this.#controller?.desiredSize ?? 0;
  }

  /** Adds a subscription whose request is still being processed. */
  add(key: string, facts: SubscriptionRowDescription): MultiplexedPart {
    const part = new MultiplexedPart(this, key, facts);
    this.#parts.set(key, part);
    return part;
  }

  /** Called by the `ReadableStream`. */
  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
    // Some proxies and clients wait for the first bytes, so a comment is sent immediately.
    controller.enqueue(toBytes(commentText));
  }

  /** Called by the `ReadableStream` whenever its queue has room. */
  pull(): void {
    // While one part sends, a pull of another part would mix their events.
    if (this.#isSending || this.#isEnding) return;
    const parts = [...this.#parts.values()];
    const first = this.#turn++ % Math.max(1, parts.length);
    for (const part of [...parts.slice(first), ...parts.slice(0, first)]) part.pull();
  }

  /** Called by the `ReadableStream` when its reader has disconnected. */
  cancel(): void {
    this.#close();
  }

  endsAt(proposed: number): number {
    return this.#endsAt ??= proposed;
  }

  send(part: MultiplexedPart, bytes: Uint8Array): void {
    if (this.#current === part) return this.#enqueue(bytes);
    this.#current = part;
    this.#isSending = true;
    this.#enqueue(part.switchBytes());
    this.#isSending = false;
    this.#enqueue(bytes);
  }

  ended(part: MultiplexedPart): void {
    this.#remove(part, eventText("ended", { key: part.key }));
  }

  /** Sends a part's refusal instead of its events, and cancels its live stream. */
  refuse(part: MultiplexedPart, refusal: SubscriptionRefusal): void {
    part.cancel();
    this.#remove(part, eventText("refused", { key: part.key, ...refusal }));
  }

  endAll(delayMs: number): void {
    if (this.#isEnding || this.#isClosed) return;
    this.#isEnding = true;
    for (const part of [...this.#parts.values()]) part.end(delayMs);
    this.#finish();
  }

  #remove(part: MultiplexedPart, lastText: string): void {
    if (!this.#parts.delete(part.key) || this.#isEnding) return;
    this.#enqueue(toBytes(lastText));
    if (this.#parts.size === 0) this.#finish();
  }

  #enqueue(bytes: Uint8Array): void {
    if (!this.#isClosed) this.#controller?.enqueue(bytes);
  }

  #finish(): void {
    // If the client has just disconnected, Deno has cancelled this stream during a send.
    if (this.#isClosed) return;
    this.#close();
    this.#controller?.close();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const part of [...this.#parts.values()]) part.cancel();
    this.#parts.clear();
    this.#whenClosed();
  }
}
