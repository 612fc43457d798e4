import { Problem } from "../../problem/problem.ts";
import type { Clock } from "../../runtime/runtime.ts";
import {
  type BodyLimits,
  type BodyReceiver,
  tooLarge,
  tooLate,
  tooManyParts,
} from "./request_body.ts";

export interface ReceivePartsOptions {
  readonly receiver: BodyReceiver;
  readonly limits: BodyLimits;
  readonly clock: Clock;
  readonly maxBytes: number;
}

/** Each body received in parts counts as this many bytes toward the limit for all bodies. */
const bytesInMemory = 4 * 1024 * 1024;

/** The number of bytes that a client must send within each `bodyTimeoutMs`. */
const bytesPerTimeout = 64 * 1024;

/** A body may have one part per 64 bytes, and this many more. Each part takes processor time. */
const freeParts = 1_024;
const bytesOfPart = 64;

/**
 * Receives a body part by part. Throws a 400 if the body ends early, a 408 if 64 KiB take longer
 * than `bodyTimeoutMs`, a 413 beyond `maxBytes`, and a 503 while too many bodies are received.
 */
export async function* receiveParts(
  request: Request,
  options: ReceivePartsOptions,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  const { receiver, limits, maxBytes } = options;
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) {
    throw tooLarge(maxBytes, { limit: maxBytes });
  }
  const received = receiver.readBodyBefore();
  if (received !== null) {
    // A middleware or a parent app has already read the whole body.
    const bytes = await received;
    if (bytes.byteLength > maxBytes) throw tooLarge(maxBytes, { limit: maxBytes });
    yield bytes;
    return;
  }
  if (request.body === null) return;
  const held = limits.receiving.begin();
  held.hold(bytesInMemory);
  const reader = request.body.getReader();
  const time = new ClientTime(options);
  let length = 0;
  let part: Uint8Array<ArrayBuffer> | null = null;
  try {
    for (let parts = 1;; parts++) {
      const turn = held.nextPart();
      const ahead = turn === undefined ? reader.read() : null;
      // If the consumer stops early, nothing awaits this promise, so its rejection is handled here.
      ahead?.catch(() => {});
      if (part !== null) yield part;
      if (turn !== undefined) await turn;
      const { done, value } = await time.within(ahead ?? reader.read());
      if (done) return;
      length += value.length;
      if (length > maxBytes) throw tooLarge(maxBytes, { limit: maxBytes });
      if (parts > freeParts + length / bytesOfPart) throw tooManyParts();
      time.gain(value.length);
      part = value;
    }
  } catch (cause) {
    if (cause instanceof Problem) throw cause;
    // The connection was lost or its framing is invalid. This response might not reach the client.
    throw new Problem("invalid-body", "The body ended before it was complete", { cause });
  } finally {
    held.end();
    // If the client is still sending the body, this call closes the connection.
    void reader.cancel().catch(() => undefined);
  }
}

/** The time that a client has left to send bytes. Time counts only while the service waits. */
class ClientTime {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  #leftMs: number;

  constructor({ clock, limits: { bodyTimeoutMs } }: ReceivePartsOptions) {
    this.#clock = clock;
    this.#timeoutMs = bodyTimeoutMs;
    this.#leftMs = bodyTimeoutMs;
  }

  async within<T>(reading: Promise<T>): Promise<T> {
    const since = this.#clock.elapsedMs();
    const late = Promise.withResolvers<never>();
    const cancel = this.#clock.after(Math.max(0, this.#leftMs), () => late.reject(tooLate()));
    try {
      return await Promise.race([reading, late.promise]);
    } finally {
      cancel();
      this.#leftMs -= this.#clock.elapsedMs() - since;
    }
  }

  gain(bytes: number): void {
    const gained = this.#timeoutMs * bytes / bytesPerTimeout;
    this.#leftMs = Math.min(this.#timeoutMs, this.#leftMs + gained);
  }
}
