import { eventText, toBytes } from "../dispatch/server_sent_events.ts";
import type { LiveStream, StreamSink } from "./live_stream.ts";
import type { StreamPart } from "./stream_part.ts";

/** The primary key and field types in a subscription's first event; null for aggregates. */
export interface SubscriptionRowDescription {
  /** The fields of the key, in order. */
  readonly primaryKey: readonly string[] | null;
  /** The types of the readable fields. */
  readonly types: Readonly<Record<string, string | readonly string[]>> | null;
}

export interface MultiplexedWriter {
  /** True if nothing is sent any more. */
  readonly isClosed: boolean;
  /** Number of bytes that may be sent before the client has to read. */
  readonly room: number;
  /** Returns the monotonic time at which the whole stream ends. The first proposed time applies. */
  endsAt(proposed: number): number;
  send(part: MultiplexedPart, bytes: Uint8Array): void;
  /** Called when the live stream of a part has ended. The whole stream continues. */
  ended(part: MultiplexedPart): void;
  /** Ends all parts with their positions and a delay, and then the whole stream. */
  endAll(delayMs: number): void;
}

/**
 * One subscription of a multiplexed stream. For its live stream, the part acts as the controller of
 * a `ReadableStream`. The part reports the room of the whole stream, so the live stream waits as
 * usual while the client does not read.
 */
export class MultiplexedPart implements StreamPart, StreamSink {
  readonly key: string;
  readonly #whole: MultiplexedWriter;
  /** The key and types to send, or null after they were sent. */
  #facts: SubscriptionRowDescription | null;
  #stream: LiveStream | null = null;
  #end: ((delayMs: number) => void) | null = null;
  /** The bytes before the response starts, while a refusal is still possible. Null afterwards. */
  #early: Uint8Array[] | null = [];
  #isEnded = false;
  #isPulling = false;
  #pullAgain = false;

  /** Starts as a part of `whole`, without a live stream. */
  constructor(whole: MultiplexedWriter, key: string, facts: SubscriptionRowDescription) {
    this.#whole = whole;
    this.key = key;
    this.#facts = facts;
  }

  /** True if a live stream is attached. */
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

  attach(stream: LiveStream, end: (delayMs: number) => void): void {
    this.#stream = stream;
    this.#end = end;
    if (this.#whole.isClosed) stream.cancel();
    else stream.start(this);
  }

  enqueue(bytes: Uint8Array): void {
    if (this.#early === null) this.#whole.send(this, bytes);
    else this.#early.push(bytes);
  }

  close(): void {
    this.#isEnded = true;
    if (this.#early === null) this.#whole.ended(this);
  }

  /** Sends from now on, because the response with the stream has started. */
  begin(): void {
    const early = this.#early ?? [];
    this.#early = null;
    for (const bytes of early) this.#whole.send(this, bytes);
    if (this.#isEnded) this.#whole.ended(this);
    else this.pull();
  }

  /** Drops the live stream of the part. Nothing more of it may be sent. */
  cancel(): void {
    this.#stream?.cancel();
  }

  /** Ends the live stream of the part with its position and a delay. */
  end(delayMs: number): void {
    if (this.#early === null) this.#end?.(delayMs);
    else this.cancel();
  }

  /** Lets the live stream of the part send, as a `ReadableStream` does when it has room. */
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

  /** Returns the event that names the subscription of the following blocks. */
  switchBytes(): Uint8Array {
    const text = eventText("subscription", { key: this.key, ...this.#facts });
    this.#facts = null;
    return toBytes(text);
  }
}
