import { Buffer } from "node:buffer";
import type { Reply } from "../../protocol/reply.ts";
import { jsonParts } from "../../schema/json_parts.ts";
import { type AnswerPart, answerTooLarge } from "../read/answer_bytes.ts";

/** How large the JSON reply to a read may be, and how large it is at least. */
export interface ReplySize {
  readonly limit: number;
  /** The bytes of the values that were read for it; null where they were not counted. */
  readonly counted: number | null;
  readonly part: AnswerPart;
}

/** The JSON of more bytes takes so long to write that other requests would wait noticeably. */
export const maxBytesAtOnce = 512 * 1024;

/** A reply to a read whose JSON is not written yet, because that may take tens of milliseconds. */
export class LargeReply {
  readonly #head: Omit<Reply, "body">;
  readonly #json: unknown;
  readonly #size: ReplySize;

  /** Writes nothing. */
  constructor(head: Omit<Reply, "body">, json: unknown, size: ReplySize) {
    this.#head = head;
    this.#json = json;
    this.#size = size;
  }

  /** About the bytes that it will have. */
  get bytes(): number {
    return this.#size.counted ?? maxBytesAtOnce;
  }

  /**
   * Writes the JSON in parts of about {@link maxBytesAtOnce}, each in a turn of the event loop.
   * Rejects with a 422 as soon as it is too large.
   */
  async write(inTurn: InTurn): Promise<Reply> {
    const { limit, part } = this.#size;
    const parts = jsonParts(this.#json)[Symbol.iterator]();
    const texts: string[] = [];
    let isDone = false;
    let written = 0;
    const writeSome = () => {
      const end = written + maxBytesAtOnce;
      while (written < end && !isDone) {
        const next = parts.next();
        if (next.done === true) {
          isDone = true;
        } else {
          texts.push(next.value);
          written += Buffer.byteLength(next.value);
          if (written > limit) throw answerTooLarge(limit, part);
        }
      }
      return Promise.resolve();
    };
    while (!isDone) await inTurn(writeSome);
    return { ...this.#head, body: texts.join("") };
  }
}

/** Runs work that keeps the event loop, when it is the turn of its request. */
export type InTurn = (work: () => Promise<void>) => Promise<void>;
