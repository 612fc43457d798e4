import { Buffer } from "node:buffer";
import { ChargedProblem } from "../../guard/charged_problem.ts";
import type { StreamPart } from "../../live/stream/live_stream.ts";
import { Problem } from "../../problem/problem.ts";
import type { Reply } from "../../protocol/reply.ts";
import { Semaphore } from "../../runtime/queues/semaphore.ts";
import type { LargeReply, SerializationTurns } from "./json_reply.ts";

/** The maximum total size of the large responses that clients have not received yet, in bytes. */
const maxSendingBytes = 128 * 1024 * 1024;

export interface ResponseDelivery extends SerializationTurns {
  readonly identity: string;
  readonly mayBeLarge: boolean;
  /** Returns a promise that resolves after delivery; null if the server reports no delivery. */
  delivered(): Promise<unknown> | null;
  part(): StreamPart | null;
}

/** The responses that are being sent. Large responses share one limit; small ones do not count. */
export class InflightResponses {
  #bytes = 0;
  readonly #byIdentity = new Map<string, number>();
  /** Large replies are serialized one at a time: each reply needs memory for its data and JSON. */
  readonly #writing = new Semaphore(1);

  get room(): number {
    return maxSendingBytes - this.#bytes;
  }

  /** Counts the body's bytes until delivery. Throws a 503 above the limit, except after a write. */
  add(body: string, delivery: ResponseDelivery, hasWritten: boolean): void {
    // In memory, a string of ASCII characters has one byte per character, any other string has two.
    const bytes = Buffer.byteLength(body) === body.length ? body.length : 2 * body.length;
    if (!hasWritten) this.#requireRoom(bytes, delivery.identity);
    this.#holdUntilDelivered(bytes, delivery);
  }

  hold(bytes: number, delivery: ResponseDelivery): void {
    this.#requireRoom(bytes, delivery.identity);
    this.#holdUntilDelivered(bytes, delivery);
  }

  /** Rejects with a 503 above the shared limit, and with a 422 if this reply alone is too large. */
  async write(reply: LargeReply, delivery: ResponseDelivery): Promise<Reply> {
    const { bytes: held } = reply;
    const { identity } = delivery;
    this.#requireRoom(held, identity);
    this.#count(identity, held);
    try {
      const written = await this.#writing.run(() => reply.write(delivery), identity);
      this.#holdUntilDelivered(written.bytes, delivery);
      return written.reply;
    } finally {
      this.#count(identity, -held);
    }
  }

  refusal(identity: string): Problem {
    // If the client caused the refusal, the client's budget pays for the read of the database.
    const OfClientOrService = this.#holdsItsShare(identity) ? ChargedProblem : Problem;
    return new OfClientOrService(
      "overloaded",
      "Cannot answer: too many large answers wait for their clients to receive them",
      { headers: { "retry-after": "1" } },
    );
  }

  #holdUntilDelivered(bytes: number, delivery: ResponseDelivery): void {
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

  /** Returns true if the identity's undelivered bytes are at least the average per identity. */
  #holdsItsShare(identity: string): boolean {
    const own = this.#byIdentity.get(identity) ?? 0;
    return own > 0 && own * this.#byIdentity.size >= this.#bytes;
  }
}
