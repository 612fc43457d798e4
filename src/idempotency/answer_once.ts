import { createHash } from "node:crypto";
import { Problem } from "../problem/problem.ts";
import { problemReply } from "../problem/problem_reply.ts";
import type { Reply } from "../protocol/reply.ts";
import {
  type FoundAnswer,
  type IdempotencyClaim,
  idempotencyLeaseMs,
  type IdempotencyStore,
  type StoredAnswer,
} from "./idempotency_store.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** A request that says by which key it may be known again. */
export interface IdempotentRequest {
  readonly key: string;
  /** Who sends it: nobody is given what another was answered. */
  readonly identity: string;
  readonly method: string;
  /** In one spelling, however the request target was percent-encoded. */
  readonly path: string;
  /** Raw, without the question mark. */
  readonly query: string;
  /** The condition that it carries; null where it has none. */
  readonly ifMatch: string | null;
  /** As it came; empty where there is none. */
  readonly body: Uint8Array;
}

/** What a request was answered. */
export interface RequestOutcome {
  readonly reply: Reply;
  /** Whether the reply was stored together with what it tells. */
  readonly isStored: boolean;
}

/** Where answers are kept. */
export interface IdempotencyContext extends Pick<Runtime, "clock" | "random" | "observe"> {
  readonly store: IdempotencyStore;
}

/** A keyed request at its operation. */
export interface IdempotentWork {
  /** Executes it. */
  execute(claim: IdempotencyClaim): Promise<RequestOutcome>;
  /** Throws where its caller has no right to the operation any more. */
  authorize(): Promise<void>;
}

/** What a keyed request has to pass before it is worked on. */
export interface IdempotentAdmission {
  /** Whether it will refuse the request, as far as it can say without asking or taking anything. */
  isDoubtful(): Promise<boolean>;
  /** Throws a 428 or 429 where the request may not pass. */
  admit(): void | Promise<void>;
  /** Gives back what was taken: an answer that is given again costs nothing. */
  refund(): void;
}

/**
 * Answers a request, or says again what was answered to it before. Of any number of the same
 * requests one is at work at a time. Throws `idempotency-key-reused` (422) for another request
 * under the same key, `idempotency-in-flight` (409) while the first one runs, and what
 * {@link IdempotentWork.authorize} throws.
 */
export async function answerOnce(
  request: IdempotentRequest,
  keeping: IdempotencyContext,
  work: IdempotentWork,
  gate: IdempotentAdmission | null,
): Promise<Reply> {
  const claim = claimFor(request, keeping);
  // A flood that is refused writes nothing to the store. Others are admitted once they hold the
  // key, so that of the same requests only one uses up a solution or the last token.
  const isDoubtful = gate !== null && await gate.isDoubtful();
  if (isDoubtful) {
    const found = await keeping.store.find(claim);
    if (found !== null) return await replay(found, claim, work);
    await gate.admit();
  }
  // Nothing is done before the store has said that nobody else does it.
  const result = await keeping.store.claim(claim);
  if (result.kind !== "claimed") {
    gate?.refund();
    return await replay(result, claim, work);
  }
  const letGo = keepRenewing(claim, keeping);
  let answered: RequestOutcome;
  try {
    answered = await refusalsAsReplies(async () => {
      if (!isDoubtful) await gate?.admit();
      return await work.execute(claim);
    });
  } catch (error) {
    await letGo();
    await storeOutcome("release", claim, keeping);
    throw error;
  }
  await letGo();
  const { reply, isStored } = answered;
  const answer = isStored ? null : storableAnswer(reply);
  if (!isStored) await storeOutcome(answer ?? "release", claim, keeping);
  return reply;
}

/** The 409 of a request that somebody else is answering. */
export function inFlightProblem(): Problem {
  return new Problem(
    "idempotency-in-flight",
    "A request with this Idempotency-Key is still running",
    { headers: { "retry-after": "1" } },
  );
}

/** As JSON, no part can run over into the next, and no text is taken for a missing one. */
function claimFor(request: IdempotentRequest, { random }: IdempotencyContext): IdempotencyClaim {
  const { key, identity, method, path, query, ifMatch, body } = request;
  const head = JSON.stringify([method, path, query, ifMatch]);
  return {
    id: hashOf(JSON.stringify([identity, method, path, key])),
    // JSON holds no line break, so that the body begins behind the first one.
    fingerprint: hashOf(`${head}\n`, body),
    owner: random.bytes(16).toHex(),
  };
}

function hashOf(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("base64url");
}

async function replay(
  result: FoundAnswer,
  { fingerprint }: IdempotencyClaim,
  work: IdempotentWork,
): Promise<Reply> {
  if (result.fingerprint !== fingerprint) {
    throw new Problem(
      "idempotency-key-reused",
      "This Idempotency-Key was used for another request: take a new key",
    );
  }
  if (result.kind === "in-flight") throw inFlightProblem();
  // The answer shows rows, and a right may have been withdrawn since it was given first.
  await work.authorize();
  const { status, headers, body } = result.answer;
  return { status, headers: { ...headers, "idempotency-replayed": "true" }, body };
}

/** Renews the claim until the answer is there; what is given back ends that. */
function keepRenewing(claim: IdempotencyClaim, { store, clock, observe }: IdempotencyContext) {
  let isOver = false;
  let cancel = () => {};
  let renewal = Promise.resolve();
  const schedule = () => {
    cancel = clock.after(idempotencyLeaseMs / 3, () => {
      renewal = renew();
    });
  };
  const renew = async () => {
    try {
      await store.renew(claim);
    } catch (error) {
      // There are two more before the claim runs out.
      observe({ kind: "idempotency_store_failed", error });
    }
    if (!isOver) schedule();
  };
  schedule();
  return async () => {
    isOver = true;
    cancel();
    await renewal;
  };
}

/** A refusal that would be the same the next time is an answer like any other. */
async function refusalsAsReplies(work: () => Promise<RequestOutcome>): Promise<RequestOutcome> {
  try {
    return await work();
  } catch (error) {
    const reply = error instanceof Problem ? problemReply(error) : null;
    if (reply === null || storableAnswer(reply) === null) throw error;
    return { reply, isStored: false };
  }
}

/** Statuses below 500 that say nothing about the request itself. */
const transientStatuses: ReadonlySet<number> = new Set([401, 403, 408, 428, 429]);

/** What can be given again; the others tell of the moment or the connection. */
const replayedHeaders = ["content-type", "etag", "location", "cache-control", "allow"] as const;

/** What is kept of a reply; null where it is not to be given again. */
export function storableAnswer({ status, headers, body }: Reply): StoredAnswer | null {
  if (status >= 500 || transientStatuses.has(status) || body instanceof ReadableStream) return null;
  const kept = replayedHeaders.flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { status, headers: Object.fromEntries(kept), body };
}

/**
 * Stores an answer or gives the key back. What was done is done by now: a store that fails here is
 * observed, and the caller is told what came of its request all the same.
 */
async function storeOutcome(
  outcome: StoredAnswer | "release",
  claim: IdempotencyClaim,
  { store, observe }: IdempotencyContext,
): Promise<void> {
  try {
    await (outcome === "release" ? store.release(claim) : store.finish(claim, outcome));
  } catch (error) {
    observe({ kind: "idempotency_store_failed", error });
  }
}
