import { Buffer } from "node:buffer";
import { ChargedProblem } from "../../guard/charged_problem.ts";
import { Problem } from "../../problem/problem.ts";

/** What all answers may have together whose clients have not received them. */
const maxSendingBytes = 128 * 1024 * 1024;

/** How the answer of an operation reaches its client. */
export interface AnswerDelivery {
  /** The user or the address that it goes to. */
  readonly identity: string;
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
  /** Of the identities that have some. */
  readonly #byIdentity = new Map<string, number>();

  /**
   * Counts an answer while it is written for an identity: what it is written from is held as well.
   * Gives the function that ends this. Throws a 503 beyond the limit.
   */
  hold(bytes: number, identity: string): () => void {
    this.#requireRoom(bytes, identity);
    this.#count(identity, bytes);
    return () => this.#count(identity, -bytes);
  }

  /**
   * Counts a long text until it is delivered: a shorter one fits into the buffers of its socket, and
   * needs no counting. Throws a 503 beyond the limit, unless the request has changed something: then
   * only its answer says that it did.
   */
  add(body: string, delivery: AnswerDelivery, hasWritten: boolean): void {
    const bytes = heldBytes(body);
    const { identity } = delivery;
    if (!hasWritten) this.#requireRoom(bytes, identity);
    const delivered = delivery.delivered();
    if (delivered === null) return;
    this.#count(identity, bytes);
    const end = () => this.#count(identity, -bytes);
    delivered.then(end, end);
  }

  #requireRoom(bytes: number, identity: string): void {
    if (this.#bytes + bytes > maxSendingBytes) throw tooMuchUnsent(this.#holdsItsShare(identity));
  }

  #count(identity: string, bytes: number): void {
    this.#bytes += bytes;
    const own = (this.#byIdentity.get(identity) ?? 0) + bytes;
    if (own === 0) this.#byIdentity.delete(identity);
    else this.#byIdentity.set(identity, own);
  }

  /** Whether the answers of an identity have as much as those of all that have some, on average. */
  #holdsItsShare(identity: string): boolean {
    const own = this.#byIdentity.get(identity) ?? 0;
    return own > 0 && own * this.#byIdentity.size >= this.#bytes;
  }
}

/** A text with a character beyond Latin-1 is held with two bytes for each. */
function heldBytes(text: string): number {
  return Buffer.byteLength(text) === text.length ? text.length : 2 * text.length;
}

/** The answer was read from the database in vain: who does not read the others has to pay for it. */
function tooMuchUnsent(isCharged: boolean): Problem {
  const OfClientOrService = isCharged ? ChargedProblem : Problem;
  return new OfClientOrService(
    "overloaded",
    "Cannot answer: too many large answers wait for their clients to receive them",
    { headers: { "retry-after": "1" } },
  );
}
