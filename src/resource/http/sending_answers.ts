import { Buffer } from "node:buffer";
import { Problem } from "../../problem/problem.ts";
import type { Reply } from "../../protocol/reply.ts";
import { Semaphore } from "../../runtime/semaphore.ts";
import type { InTurn, LargeReply } from "./large_reply.ts";

/** What all answers may have together whose clients have not received them. */
const maxSendingBytes = 128 * 1024 * 1024;

/** How the answer of an operation reaches its client. */
export interface AnswerDelivery {
  /**
   * Resolves or rejects when the answer was sent or its connection is gone; null where the listener
   * does not report it.
   */
  delivered(): Promise<unknown> | null;
}

/**
 * The answers of an app that are being sent. An answer is held until its client has received it,
 * which may never happen: large ones have a limit in common, and small ones go in any case.
 */
export class SendingAnswers {
  #bytes = 0;
  /** One after the other: each holds what it is written from, and what is written. */
  readonly #writing = new Semaphore(1, Infinity);

  /** The bytes that another answer may have. */
  get room(): number {
    return maxSendingBytes - this.#bytes;
  }

  /**
   * Counts a long text until it is delivered: a shorter one fits into the buffers of its socket, and
   * needs no counting. Throws a 503 beyond the limit, unless the request has changed something: then
   * only its answer says that it did.
   */
  add(body: string, delivery: AnswerDelivery, hasWritten: boolean): void {
    const bytes = heldBytes(body);
    if (!hasWritten) this.#requireRoom(bytes);
    this.#holdUntilDelivered(bytes, delivery);
  }

  /**
   * Writes a large reply to a read, and counts it from now until it is delivered. Rejects with a 503
   * beyond the limit, and with a 422 where it is too large.
   */
  async write(reply: LargeReply, delivery: AnswerDelivery, inTurn: InTurn): Promise<Reply> {
    const { bytes: held } = reply;
    this.#requireRoom(held);
    this.#bytes += held;
    try {
      const written = await this.#writing.run(() => reply.write(inTurn));
      this.#holdUntilDelivered(written.bytes, delivery);
      return written.reply;
    } finally {
      this.#bytes -= held;
    }
  }

  #requireRoom(bytes: number): void {
    if (bytes > this.room) throw tooMuchUnsent();
  }

  #holdUntilDelivered(bytes: number, delivery: AnswerDelivery): void {
    const delivered = delivery.delivered();
    if (delivered === null) return;
    this.#bytes += bytes;
    const end = () => {
      this.#bytes -= bytes;
    };
    delivered.then(end, end);
  }
}

/** A text with a character beyond Latin-1 is held with two bytes for each. */
function heldBytes(text: string): number {
  return Buffer.byteLength(text) === text.length ? text.length : 2 * text.length;
}

/** The 503 for an answer that cannot be sent now. */
export function tooMuchUnsent(): Problem {
  return new Problem(
    "overloaded",
    "Cannot answer: too many large answers wait for their clients to receive them",
    { headers: { "retry-after": "1" } },
  );
}
