import type { Reply } from "../../protocol/reply.ts";
import { jsonParts } from "../../schema/json_parts.ts";
import { type ResponsePart, responseTooLarge } from "./response_byte_budget.ts";

export interface ReplySizeLimits {
  readonly limit: number;
  /** The number of bytes that were read for the reply; null if they were not counted. */
  readonly counted: number | null;
  readonly part: ResponsePart;
}

/** The size in bytes from which JSON is serialized in parts, to avoid delays of other requests. */
export const maxBytesAtOnce = 512 * 1024;

/** Runs the parts of a long serialization, each in a separate turn of the event loop. */
export interface SerializationTurns {
  /** Runs work that keeps the event loop busy for milliseconds, when it is the client's turn. */
  inTurn(work: () => Promise<void>): Promise<void>;
}

/** A large reply to a read, whose data is not serialized yet. */
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

  /**
   * Serializes the data in parts of about {@link maxBytesAtOnce}, each in a turn of the event loop.
   * Rejects with a 422 as soon as the JSON is too large.
   */
  async write(turns: SerializationTurns): Promise<SerializedReply> {
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

export interface SerializedReply {
  readonly reply: Reply;
  readonly bytes: number;
}

const encoder = new TextEncoder();
/** The size of a chunk, in bytes. With small chunks, the undelivered bytes are counted exactly. */
const bytesOfChunk = 64 * 1024;

/** Returns the JSON in parts. Each part is at least as long as a chunk, except for the last. */
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
