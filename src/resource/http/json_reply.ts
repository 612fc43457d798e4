import { jsonContentType, type Reply } from "../../protocol/reply.ts";
import { writeJson } from "../../schema/exact_json.ts";
import { jsonFits, maxBytesOfCharacter, textFits } from "../../schema/json_fits.ts";
import { type ResponsePart, responseTooLarge } from "./response_byte_budget.ts";
import { jsonParts } from "../../schema/json_parts.ts";

/** A reply before serialization. Server-side callers receive the data, clients receive JSON. */
export class DataReply {
  readonly status: number;
  readonly headers: Reply["headers"];
  readonly data: unknown;
  /** The size limits of the reply; null for a reply without limits, such as a reply to a write. */
  readonly size: ReplySizeLimits | null;

  constructor(
    status: number,
    data: unknown,
    headers: Reply["headers"],
    size: ReplySizeLimits | null = null,
  ) {
    this.status = status;
    this.headers = headers;
    this.data = data;
    this.size = size;
  }

  /** Returns the data for a server-side caller. Throws a 422 if its JSON would be too large. */
  fittingData(): unknown {
    if (this.size !== null && !isSmall(this.size)) requireFitting(this.data, this.size);
    return this.data;
  }

  /** Serializes small data now, and large data later. Throws a 422 if the data is too large. */
  write(): Reply | LargeReply {
    const { status, headers, data, size } = this;
    if (size === null) return this.writeAll();
    const { limit, counted, part } = size;
    const isLarge = counted === null ? !jsonFits(data, maxBytesAtOnce) : counted > maxBytesAtOnce;
    if (isLarge) return new LargeReply({ status, headers }, data, size);
    if (!isSmall(size)) requireFitting(data, size);
    const reply = this.writeAll();
    // The counted bytes do not include computed fields, so the size of the JSON is checked, too.
    const { body: text } = reply;
    if (text.length * maxBytesOfCharacter > limit && !textFits(text, limit)) {
      throw responseTooLarge(limit, part);
    }
    return reply;
  }

  writeAll(): Reply & { readonly body: string } {
    return { status: this.status, headers: this.headers, body: writeJson(this.data) };
  }
}

function isSmall({ counted, limit }: ReplySizeLimits): boolean {
  return counted !== null && counted * maxBytesOfCharacter <= limit;
}

function requireFitting(data: unknown, { limit, part }: ReplySizeLimits): void {
  if (!jsonFits(data, limit)) throw responseTooLarge(limit, part);
}

/** The header `Cache-Control` of JSON replies. No shared cache may store a reply for one user. */
export const cacheControl = "private, no-cache";

/** The `Vary` header of replies with rows: `Accept` can request `numbers=safe` or a format. */
export const variesByAccept: Readonly<Record<string, string>> = Object.freeze({ vary: "Accept" });

export function countReply(count: number): DataReply {
  return jsonReply(200, { count });
}

export function jsonReply(
  status: number,
  body: unknown,
  headers?: Readonly<Record<string, string>>,
): DataReply {
  return new DataReply(status, body, jsonHeaders(headers));
}

export function limitedReply(
  status: number,
  body: unknown,
  size: ReplySizeLimits,
  headers?: Readonly<Record<string, string>>,
): DataReply {
  return new DataReply(status, body, jsonHeaders(headers), size);
}

function jsonHeaders(headers?: Readonly<Record<string, string>>): Reply["headers"] {
  // In V8, an object literal without a spread is created faster.
  const fixed = { "content-type": jsonContentType, "cache-control": cacheControl, vary: "Accept" };
  return headers === undefined ? fixed : { ...fixed, ...headers };
}

/** The charset comes first, because nginx decides by the type's beginning whether to compress. */
export const safeNumbersType = Object.freeze({
  "content-type": `${jsonContentType};charset=utf-8;numbers=safe`,
});

/** Sets {@link safeNumbersType}. A 204 becomes a 200: proxies remove the content type of a 204. */
export function safeNumbersReply(reply: DataReply | Reply): DataReply | Reply {
  const headers = { ...reply.headers, ...safeNumbersType };
  if (reply instanceof DataReply) {
    return new DataReply(reply.status, reply.data, headers, reply.size);
  }
  return reply.status === 204 ? jsonReply(200, {}, headers) : reply;
}

interface ReplySizeLimits {
  readonly limit: number;
  /** The number of bytes that were read for the reply; null if they were not counted. */
  readonly counted: number | null;
  readonly part: ResponsePart;
}

/** The size in bytes from which JSON is serialized in parts, to avoid delays of other requests. */
const maxBytesAtOnce = 512 * 1024;

export interface SerializationTurns {
  /** Waits for the client's turn, then runs work that blocks the event loop for milliseconds. */
  inTurn(work: () => Promise<void>): Promise<void>;
}

export class LargeReply {
  readonly #head: Omit<Reply, "body">;
  readonly #json: unknown;
  readonly #size: ReplySizeLimits;

  constructor(head: Omit<Reply, "body">, json: unknown, size: ReplySizeLimits) {
    this.#head = head;
    this.#json = json;
    this.#size = size;
  }

  get bytes(): number {
    return this.#size.counted ?? maxBytesAtOnce;
  }

  /** Serializes the data in several event-loop turns. Rejects with a 422 if JSON is too large. */
  async write(turns: SerializationTurns) {
    const { limit, part } = this.#size;
    const parts = encodedParts(this.#json);
    const body: Uint8Array[] = [];
    let bytes = 0;
    let isDone = false;
    const writeSome = () => {
      for (const end = bytes + maxBytesAtOnce; bytes < end && !isDone;) {
        const { value } = parts.next();
        isDone = value === undefined;
        if (value === undefined) break;
        body.push(value);
        bytes += value.byteLength;
        if (bytes > limit) throw responseTooLarge(limit, part);
      }
      return Promise.resolve();
    };
    while (!isDone) await turns.inTurn(writeSome);
    const { status, headers } = this.#head;
    const sized = { ...headers, "content-length": String(bytes) };
    return { reply: { status, headers: sized, body: streamOf(body) }, bytes };
  }
}

const encoder = new TextEncoder();
/** The size of a chunk, in bytes. The count of undelivered bytes can be wrong by one chunk. */
const bytesOfChunk = 64 * 1024;

function* encodedParts(json: unknown): Generator<Uint8Array, undefined> {
  let text = "";
  for (const part of jsonParts(json)) {
    text += part;
    if (text.length < bytesOfChunk) continue;
    yield encoder.encode(text);
    text = "";
  }
  if (text !== "") yield encoder.encode(text);
}

function streamOf(parts: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const chunks = chunksOf(parts);
  return new ReadableStream({
    pull(controller) {
      const { value } = chunks.next();
      if (value === undefined) controller.close();
      else controller.enqueue(value);
    },
  }, { highWaterMark: 0 });
}

function* chunksOf(parts: readonly Uint8Array[]): Generator<Uint8Array, undefined> {
  for (const part of parts) {
    for (let at = 0; at < part.byteLength; at += bytesOfChunk) {
      yield part.subarray(at, at + bytesOfChunk);
    }
  }
}
