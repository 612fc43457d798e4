import { eventText, toBytes } from "../dispatch/server_sent_events.ts";
import type { LiveStream, StreamSink } from "./live_stream.ts";
import type { StreamPart } from "./stream_part.ts";

/** The primary key and field types of a subscription's rows; null for aggregates. */
export interface SubscriptionRowDescription {
  /** The fields of the primary key, in order. */
  readonly primaryKey: readonly string[] | null;
  /** The types of the readable fields. */
  readonly types: Readonly<Record<string, string | readonly string[]>> | null;
}

export interface MultiplexedWriter {
  /** True if the whole stream has ended. */
  readonly isClosed: boolean;
  /** Number of bytes that can be sent before the client has to read. */
  readonly room: number;
  /** Returns the monotonic time at which the whole stream ends: the first proposed time. */
  endsAt(proposed: number): number;
  send(part: MultiplexedPart, bytes: Uint8Array): void;
  /** Called when the live stream of a part has ended. The other parts continue. */
  ended(part: MultiplexedPart): void;
  /** Ends all parts, each with its resume token, and then the whole stream. */
  endAll(delayMs: number): void;
}

/**
 * One subscription in a multiplexed stream, which carries several. To its live stream, the part is
 * the controller of a `ReadableStream`. It reports the room of the whole stream, so the live stream
 * waits as usual while the client does not read.
 */
export class MultiplexedPart implements StreamPart, StreamSink {
  readonly key: string;
  readonly #whole: MultiplexedWriter;
  /** The key and types to send with the first event; null after they were sent. */
  #facts: SubscriptionRowDescription | null;
  #stream: LiveStream | null = null;
  #end: ((delayMs: number) => void) | null = null;
  /** Bytes to send when the response starts, because it can still be refused. Null afterwards. */
  #early: Uint8Array[] | null = [];
  #isEnded = false;
  #isPulling = false;
  #pullAgain = false;

  /** Creates a part of `whole` for a subscription. Its live stream is attached later. */
  constructor(whole: MultiplexedWriter, key: string, facts: SubscriptionRowDescription) {
    this.#whole = whole;
    this.key = key;
    this.#facts = facts;
  }

  /** True if the part has a live stream. */
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

  /** Sends the kept bytes and all later ones, because the response has started. */
  begin(): void {
    const early = this.#early ?? [];
    this.#early = null;
    for (const bytes of early) this.#whole.send(this, bytes);
    if (this.#isEnded) this.#whole.ended(this);
    else this.pull();
  }

  /** Cancels the live stream of the part, which then sends nothing more. */
  cancel(): void {
    this.#stream?.cancel();
  }

  /** Ends the live stream with a resume token and the client's delay before it reconnects. */
  end(delayMs: number): void {
    if (this.#early === null) this.#end?.(delayMs);
    else this.cancel();
  }

  /** Makes the live stream send its next bytes, as a `ReadableStream` does when it has room. */
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

  /** Returns the event that says to which subscription the following events belong. */
  switchBytes(): Uint8Array {
    const text = eventText("subscription", { key: this.key, ...this.#facts });
    this.#facts = null;
    return toBytes(text);
  }
}
