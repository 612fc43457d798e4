import { Buffer } from "node:buffer";
import { ChargedProblem } from "../../guard/charged_problem.ts";
import type { StreamPart } from "../../live/stream/stream_part.ts";
import { Problem } from "../../problem/problem.ts";
import type { Reply } from "../../protocol/reply.ts";
import { FairSemaphore } from "../../runtime/queues/fair_semaphore.ts";
import type { LargeReply, WritingTurns } from "./large_reply.ts";

/** What all answers may have together whose clients have not received them. */
const maxSendingBytes = 128 * 1024 * 1024;

/** How the answer of an operation reaches its client. */
export interface AnswerDelivery extends WritingTurns {
  /** The user or the address that it goes to. */
  readonly identity: string;
  /** True if its route has had large answers. */
  readonly mayBeLarge: boolean;
  /**
   * Resolves or rejects when the answer was sent or its connection is gone; null if the listener
   * does not report it.
   */
  delivered(): Promise<unknown> | null;
  /** The part of a multiplexed stream that the answer is to be; null for an answer of its own. */
  part(): StreamPart | null;
}

/**
 * The answers of an app that are being sent. An answer is held until its client has received it,
 * which may never happen: large ones have a limit in common, and small ones go in any case.
 */
export class SendingAnswers {
  #bytes = 0;
  /** Of the identities that have some. */
  readonly #byIdentity = new Map<string, number>();
  /** One after the other: each holds what it is written from, and what is written. */
  readonly #writing = new FairSemaphore(1);

  /** The bytes that another answer may have. */
  get room(): number {
    return maxSendingBytes - this.#bytes;
  }

  /**
   * Counts a long string until it is delivered: a shorter one fits into the buffers of its socket, and
   * needs no counting. Throws a 503 beyond the limit, unless the request has changed something: then
   * only its answer says that it did.
   */
  add(body: string, delivery: AnswerDelivery, hasWritten: boolean): void {
    const bytes = heldBytes(body);
    if (!hasWritten) this.#requireRoom(bytes, delivery.identity);
    this.#holdUntilDelivered(bytes, delivery);
  }

  /**
   * Counts so many bytes, which were read for an answer that is sent in parts, until it is delivered.
   * Throws a 503 beyond the limit.
   */
  hold(bytes: number, delivery: AnswerDelivery): void {
    this.#requireRoom(bytes, delivery.identity);
    this.#holdUntilDelivered(bytes, delivery);
  }

  /**
   * Writes a large reply to a read, and counts it from now until it is delivered. Rejects with a 503
   * beyond the limit, and with a 422 where it is too large.
   */
  async write(reply: LargeReply, delivery: AnswerDelivery): Promise<Reply> {
    const { bytes: held } = reply;
    const { identity } = delivery;
    this.#requireRoom(held, identity);
    this.#count(identity, held);
    try {
      const written = await this.#writing.run(identity, () => reply.write(delivery));
      this.#holdUntilDelivered(written.bytes, delivery);
      return written.reply;
    } finally {
      this.#count(identity, -held);
    }
  }

  /** The 503 for an answer to an identity that cannot be sent now. */
  refusal(identity: string): Problem {
    // The answer was read from the database in vain: who does not read the others pays for it.
    const OfClientOrService = this.#holdsItsShare(identity) ? ChargedProblem : Problem;
    return new OfClientOrService(
      "overloaded",
      "Cannot answer: too many large answers wait for their clients to receive them",
      { headers: { "retry-after": "1" } },
    );
  }

  #holdUntilDelivered(bytes: number, delivery: AnswerDelivery): void {
    const delivered = delivery.delivered();
    if (delivered === null) return;
    const { identity } = delivery;
    this.#count(identity, bytes);
    const end = () => this.#count(identity, -bytes);
    delivered.then(end, end);
  }

  #requireRoom(bytes: number, identity: string): void {
    if (bytes > this.room) throw this.refusal(identity);
  }

  #count(identity: string, bytes: number): void {
    this.#bytes += bytes;
    const own = (this.#byIdentity.get(identity) ?? 0) + bytes;
    if (own === 0) this.#byIdentity.delete(identity);
    else this.#byIdentity.set(identity, own);
  }

  /** Returns true if the answers of an identity have as much as those of all that have some, on average. */
  #holdsItsShare(identity: string): boolean {
    const own = this.#byIdentity.get(identity) ?? 0;
    return own > 0 && own * this.#byIdentity.size >= this.#bytes;
  }
}

/** A string with a character beyond Latin-1 is held with two bytes for each. */
function heldBytes(text: string): number {
  return Buffer.byteLength(text) === text.length ? text.length : 2 * text.length;
}
