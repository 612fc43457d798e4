import type { Problem } from "../../problem/problem.ts";
import type { DescribedFilter } from "../../filter/match/described_filter.ts";
import type { ProblemBody } from "../../protocol/problem_codes.ts";
import { commentText, eventText, toBytes } from "../dispatch/server_sent_events.ts";
import type { LiveStream, StreamPart, StreamSink } from "./live_stream.ts";

/** The description of a subscription's rows for the client. Its members are null for aggregates. */
export interface SubscriptionRowDescription {
  readonly primaryKey: readonly string[] | null;
  readonly types: Readonly<Record<string, string | readonly string[]>> | null;
  /** The values that a new row has if its body does not set them. */
  readonly defaults: Readonly<Record<string, unknown>> | null;
  readonly filter?: DescribedFilter;
}

export interface SubscriptionRefusal {
  readonly status: number;
  readonly problem: ProblemBody;
  /** Seconds for which the client must wait, or null if the service requests no delay. */
  readonly retryAfter: number | null;
  /** The headers of a challenge (proof of work or CAPTCHA) that the client must solve. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Several live streams in one response. Before a subscription's events, an event with its key is
 * sent. While the client does not read, each subscription keeps a position and at most one chunk.
 */
export class MultiplexedStream {
  readonly #parts = new Map<string, MultiplexedPart>();
  readonly #whenClosed: () => void;
  readonly #refusalOf: (problem: Problem) => SubscriptionRefusal;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  /** The part whose subscription the last `subscription` event has named. */
  #current: MultiplexedPart | null = null;
  #isClosed = false;
  #isEnding = false;
  #isSending = false;
  #endsAt: number | null = null;
  /** Index of the part to pull first in the next round. The index rotates among the parts. */
  #turn = 0;

  /** `whenClosed` is called once, however the stream ends. */
  constructor(whenClosed: () => void, refusalOf: (problem: Problem) => SubscriptionRefusal) {
    this.#whenClosed = whenClosed;
    this.#refusalOf = refusalOf;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get room(): number {
    return this.#isClosed ? 0 : this.#controller?.desiredSize ?? 0;
  }

  add(key: string, facts: SubscriptionRowDescription): MultiplexedPart {
    const part = new MultiplexedPart(this, key, facts);
    this.#parts.set(key, part);
    return part;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
    // Some proxies and clients wait for the first bytes, so these are sent immediately.
    controller.enqueue(toBytes(commentText));
  }

  pull(): void {
    // While one part sends, pulling another part would mix their events.
    if (this.#isSending || this.#isEnding) return;
    const parts = [...this.#parts.values()];
    const first = this.#turn++ % Math.max(1, parts.length);
    for (const part of [...parts.slice(first), ...parts.slice(0, first)]) part.pull();
  }

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

  ended(part: MultiplexedPart, problem: Problem | undefined): void {
    if (problem === undefined) this.#remove(part, eventText("ended", { key: part.key }));
    else this.refuse(part, this.#refusalOf(problem));
  }

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

/** A subscription in a multiplexed stream. Its room for bytes is the room of the whole stream. */
export class MultiplexedPart implements StreamPart, StreamSink {
  readonly key: string;
  readonly #whole: MultiplexedStream;
  /** The key and types to send with the first event; null after they were sent. */
  #facts: SubscriptionRowDescription | null;
  #stream: LiveStream | null = null;
  #end: ((delayMs: number) => void) | null = null;
  /** Bytes kept until the response starts, in case the part is refused. Null after the start. */
  #early: Uint8Array[] | null = [];
  #isEnded = false;
  #problem: Problem | undefined = undefined;
  #isPulling = false;
  #pullAgain = false;

  constructor(whole: MultiplexedStream, key: string, facts: SubscriptionRowDescription) {
    this.#whole = whole;
    this.key = key;
    this.#facts = facts;
  }

  get isAttached(): boolean {
    return this.#stream !== null;
  }

  get desiredSize(): number {
    return this.#early === null && !this.#isEnded ? this.#whole.room : 0;
  }

  endsAt(proposed: number): number {
    return this.#whole.endsAt(proposed);
  }

  endWhole(delayMs: number): void {
    this.#whole.endAll(delayMs);
  }

  attach(
    stream: LiveStream,
    end: (delayMs: number) => void,
    filter: DescribedFilter | null,
  ): void {
    if (filter !== null && this.#facts !== null) this.#facts = { ...this.#facts, filter };
    this.#stream = stream;
    this.#end = end;
    if (this.#whole.isClosed) stream.cancel();
    else stream.start(this);
  }

  enqueue(bytes: Uint8Array): void {
    if (this.#early === null) this.#whole.send(this, bytes);
    else this.#early.push(bytes);
  }

  close(problem?: Problem): void {
    this.#isEnded = true;
    this.#problem = problem;
    if (this.#early === null) this.#whole.ended(this, problem);
  }

  begin(): void {
    const early = this.#early ?? [];
    this.#early = null;
    for (const bytes of early) this.#whole.send(this, bytes);
    if (this.#isEnded) this.#whole.ended(this, this.#problem);
    else this.pull();
  }

  cancel(): void {
    this.#stream?.cancel();
  }

  /** Ends the live stream: its client receives a resume token, and reconnects after `delayMs`. */
  end(delayMs: number): void {
    if (this.#early === null) this.#end?.(delayMs);
    else this.cancel();
  }

  pull(): void {
    if (this.#stream === null || this.desiredSize <= 0) return;
    if (this.#isPulling) {
      this.#pullAgain = true;
      return;
    }
    const working = this.#stream.pull();
    if (working === undefined) return;
    this.#isPulling = true;
    // `working` never rejects, because an error ends the stream.
    void working.then(() => {
      this.#isPulling = false;
      if (!this.#pullAgain) return;
      this.#pullAgain = false;
      this.pull();
    });
  }

  switchBytes(): Uint8Array {
    const text = eventText("subscription", { key: this.key, ...this.#facts });
    this.#facts = null;
    return toBytes(text);
  }
}
