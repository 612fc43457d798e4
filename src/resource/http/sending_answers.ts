import { Buffer } from "node:buffer";
import { Problem } from "../../problem/problem.ts";

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

  /**
   * Counts an answer while it is written: what it is written from is held as well. Gives the function
   * that ends this. Throws a 503 beyond the limit.
   */
  hold(bytes: number): () => void {
    if (this.#bytes + bytes > maxSendingBytes) throw tooMuchUnsent();
    this.#bytes += bytes;
    return () => {
      this.#bytes -= bytes;
    };
  }

  /**
   * Counts a long text until it is delivered: a shorter one fits into the buffers of its socket, and
   * needs no counting. Throws a 503 beyond the limit, unless the request has changed something: then
   * only its answer says that it did.
   */
  add(body: string, delivery: AnswerDelivery, hasWritten: boolean): void {
    const bytes = heldBytes(body);
    if (!hasWritten && this.#bytes + bytes > maxSendingBytes) throw tooMuchUnsent();
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

function tooMuchUnsent(): Problem {
  return new Problem(
    "overloaded",
    "Cannot answer: too many large answers wait for their clients to receive them",
    { headers: { "retry-after": "1" } },
  );
}
