import { Buffer } from "node:buffer";
import { Problem } from "../../problem/problem.ts";
import type { Reply } from "../../protocol/reply.ts";

/** An answer of fewer characters fits into the buffers of its socket, and is never refused. */
const smallLength = 64 * 1024;

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
   * Counts a reply until it is delivered. Throws a 503 beyond the limit, unless the request has
   * changed something: then only its answer says that it did.
   */
  add({ body }: Reply, delivery: AnswerDelivery, hasWritten: boolean): void {
    if (typeof body !== "string" || body.length < smallLength) return;
    const bytes = Buffer.byteLength(body);
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

function tooMuchUnsent(): Problem {
  return new Problem(
    "overloaded",
    "Cannot answer: too many large answers wait for their clients to receive them",
    { headers: { "retry-after": "1" } },
  );
}
