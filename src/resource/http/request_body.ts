import { Problem } from "../../problem/problem.ts";
import { readBytes } from "../../runtime/read_bytes.ts";
import { type Clock, sleep } from "../../runtime/runtime.ts";
import { exceededJsonLimit, type JsonLimits, parseCheckedJson } from "../../schema/exact_json.ts";

export interface BodyLimits {
  readonly bodyLimit: number;
  readonly bodyTimeoutMs: number;
  readonly receiving: ReceivingBodyLimiter;
}

const maxDepth = 32;

/** The maximum digits of a number. No column allows more. Parsing a million digits takes 200 ms. */
const maxDigits = 1_000;

export function bodyJsonLimits(maxFields: number): JsonLimits {
  return { levels: maxDepth, names: maxFields, digits: maxDigits };
}

export interface BodyReceiver {
  /** Returns the body that a middleware has read, or null. Rejects if the body is unusable. */
  receivedBody(): Promise<Uint8Array<ArrayBuffer>> | null;
  /** Returns the body if a middleware has begun to read it, or null if none has. */
  readBodyBefore(): Promise<Uint8Array<ArrayBuffer>> | null;
}

/** Returns the body, which must be JSON unless `isRaw`. Throws a 400, 408, 413 or 415. */
export function readBody(
  request: Request,
  receiver: BodyReceiver,
  { limits, clock }: { readonly limits: BodyLimits; readonly clock: Clock },
  isRaw = false,
): Promise<Uint8Array<ArrayBuffer>> {
  // This check comes before the read. If it threw later, the read's rejection would be unhandled.
  if (!isRaw) requireJson((name) => request.headers.get(name));
  const received = receiver.receivedBody();
  if (received === null) return receiveBody(request, limits, clock);
  return received.then((bytes) => {
    // A parent app has read the body without the limits of this app.
    if (bytes.byteLength > limits.bodyLimit) throw tooLarge(limits.bodyLimit);
    return bytes;
  });
}

export function parseBody(bytes: Uint8Array<ArrayBuffer>, maxFields: number): unknown {
  const value = parseCheckedJson(boundedText(bytes, maxFields));
  if (value === undefined) {
    throw new Problem("invalid-body", "Cannot read this body: it is not JSON");
  }
  return value;
}

/** Decodes a body for a library's parser. Throws a 400 or 413 if the JSON exceeds a limit. */
export function boundedText(bytes: Uint8Array, maxFields: number): string {
  const text = decodeText(bytes);
  const excess = exceededJsonLimit(text, bodyJsonLimits(maxFields));
  if (excess === "levels") {
    throw new Problem("invalid-body", `Cannot use this body: it is nested deeper than ${maxDepth}`);
  }
  if (excess === "digits") {
    throw new Problem(
      "invalid-body",
      `Cannot use this body: a number in it has more than ${maxDigits} digits`,
    );
  }
  if (excess === "names") throw tooManyFields(maxFields);
  return text;
}

function tooManyFields(limit: number): Problem {
  return new Problem(
    "payload-too-large",
    `Cannot use this body: it has more than ${limit} fields, those of all its objects together`,
    { details: { limit } },
  );
}

/** Throws a 415 unless the headers say that the body is JSON. `others` are other accepted types. */
export function requireJson(
  header: (name: string) => string | null,
  others: readonly string[] = [],
): void {
  const isPlain = (header("content-encoding")?.toLowerCase() ?? "identity") === "identity";
  const type = header("content-type") ?? "";
  if (isPlain && /^\s*application\/([\w.-]+\+)?json\s*(;|$)/i.test(type)) return;
  mediaTypeOf(header);
  throw new Problem(
    "unsupported-media-type",
    "Cannot read this body: send it with the header content-type: " +
      ["application/json", ...others].join(", or "),
  );
}

export function mediaTypeOf(header: (name: string) => string | null): string {
  const encoding = header("content-encoding")?.toLowerCase() ?? "identity";
  if (encoding !== "identity") {
    throw new Problem("unsupported-media-type", "Cannot read this body: it must not be compressed");
  }
  return (header("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

export async function receiveBody(
  request: Request,
  limits: BodyLimits,
  clock: Clock,
): Promise<Uint8Array<ArrayBuffer>> {
  const declared = request.headers.get("content-length");
  if (declared !== null && Number(declared) > limits.bodyLimit) throw tooLarge(limits.bodyLimit);
  const isSmall = declared !== null && Number(declared) <= smallBodyBytes;
  // The server enforces a declared length. Reading a small body without a stream is faster.
  const small = isSmall ? request.bytes() : null;
  // A small body that has arrived needs no timer, which takes longer than all other work on it.
  const arrived = small && await bodyWithHead(small);
  if (arrived) return arrived;
  const held = limits.receiving.begin();
  // The declared length counts before any byte is received, so that a rejected body is not read.
  if (declared !== null) held.hold(Number(declared));
  const late = Promise.withResolvers<never>();
  const cancelTimer = clock.after(limits.bodyTimeoutMs, () => late.reject(tooLate()));
  try {
    const bytes = small ?? collect(request, { limits, held, expected: Number(declared ?? 0) });
    return await Promise.race([bytes, late.promise]);
  } catch (cause) {
    if (cause instanceof Problem) throw cause;
    // The connection was lost, or its framing is invalid. This response might not reach the client.
    throw new Problem("invalid-body", "The body ended before it was complete", { cause });
  } finally {
    cancelTimer();
    held.end();
  }
}

/** Returns the body if it arrived with the request's head; undefined if it is still pending. */
async function bodyWithHead<T>(body: Promise<T>): Promise<T | undefined> {
  let result: T | undefined;
  body.then((value) => result = value, () => {});
  for (let count = 0; count < 4 && result === undefined; count++) await null;
  return result;
}

async function collect(
  request: Request,
  { limits, held, expected }: {
    readonly limits: BodyLimits;
    readonly held: IncomingBody;
    /** The declared length in bytes; 0 if none is declared. */
    readonly expected: number;
  },
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await readBytes(request.body, {
    limit: limits.bodyLimit,
    expected,
    hold: (length) => held.hold(length),
    nextPart: () => held.nextPart(),
  });
  if (bytes === "too-large") throw tooLarge(limits.bodyLimit);
  if (bytes === "too-many-parts") throw tooManyParts();
  return bytes;
}

export function tooManyParts(): Problem {
  return new Problem(
    "invalid-body",
    "Cannot read this body: it arrives in too many parts, of a few bytes each",
    { headers: { connection: "close" } },
  );
}

export function tooLate(): Problem {
  return new Problem("request-timeout", "The body did not arrive in time", {
    headers: { connection: "close" },
  });
}

export function tooLarge(limit: number, details?: { readonly limit: number }): Problem {
  return new Problem(
    "payload-too-large",
    `Cannot read this body: it is larger than ${limit} bytes`,
    // The rest of the body is still arriving, so the connection cannot be reused.
    { details, headers: { connection: "close" } },
  );
}

/** One decoder for all calls: without `stream: true`, it keeps no state between calls. */
const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

export function decodeText(bytes: Uint8Array): string {
  try {
    return strictUtf8.decode(bytes);
  } catch (cause) {
    throw new Problem("invalid-body", "Cannot read this body: it is not UTF-8", { cause });
  }
}

const maxReceivingBytes = 64 * 1024 * 1024;
/** A body of up to this size, in bytes, is received even if the limit for all bodies is reached. */
const smallBodyBytes = 64 * 1024;

/** The maximum parts of large bodies per event-loop turn. More would delay Deno's other sockets. */
const partsOfTurn = 4;
const turnMs = 1;

interface IncomingBody {
  /** Sets how many bytes of this body count against the limit. Throws a 503 above the limit. */
  hold(bytes: number): void;
  nextPart(): Promise<void> | undefined;
  end(): void;
}

/** Limits the memory for incoming bodies: clients could send parts of many bodies and then wait. */
export class ReceivingBodyLimiter {
  #bytes = 0;
  readonly #waiting: (() => void)[] = [];
  #partsOfTurn = 0;
  #turnBeganAt = -Infinity;
  readonly #clock: Pick<Clock, "elapsedMs">;

  constructor(clock: Pick<Clock, "elapsedMs">) {
    this.#clock = clock;
  }

  begin(): IncomingBody {
    let held = 0;
    const count = (bytes: number) => {
      this.#bytes += bytes - held;
      held = bytes;
    };
    return {
      hold: (bytes) => {
        if (bytes <= smallBodyBytes) return;
        if (this.#bytes - held + bytes > maxReceivingBytes) throw tooMuchAtOnce();
        count(bytes);
      },
      nextPart: () => this.#nextPart(),
      end: () => count(0),
    };
  }

  #nextPart(): Promise<void> | undefined {
    const now = this.#clock.elapsedMs();
    if (this.#waiting.length === 0 && now - this.#turnBeganAt >= turnMs) {
      this.#turnBeganAt = now;
      this.#partsOfTurn = 0;
    }
    // Counts a read in the turn in which the read begins, because its part may arrive much later.
    if (this.#waiting.length === 0 && this.#partsOfTurn++ < partsOfTurn) return undefined;
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) void this.#serveWaiting();
    });
  }

  async #serveWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Deno handles all I/O only during a wait for a real timer (see `createYieldTurn`).
      await sleep(0);
      for (const resolve of this.#waiting.splice(0, partsOfTurn)) resolve();
    }
  }
}

function tooMuchAtOnce(): Problem {
  return new Problem(
    "overloaded",
    "Cannot receive this body: too many large ones are being received",
    { headers: { "retry-after": "1", connection: "close" } },
  );
}
