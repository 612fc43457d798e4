import { bytesToHex } from "../protocol/byte_text.ts";
import { createHash } from "node:crypto";
import { Problem, problemReply } from "../problem/problem.ts";
import type { Reply } from "../protocol/reply.ts";
import {
  type FoundKeyRecord,
  type IdempotencyClaim,
  idempotencyLeaseMs,
  type IdempotencyStore,
  type StoredResponse,
} from "./idempotency_store.ts";
import {
  answerNotKeptProblem,
  type AnswerStorageLimits,
  isStorableReply,
  toStoredResponse,
} from "./stored_response.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** A request with an Idempotency-Key, which is executed once. A repetition has equal members. */
export interface IdempotentRequest {
  readonly key: string;
  /** Identifies the caller. A caller never receives the response to another caller. */
  readonly identity: string;
  /** Names the client whose storage share the response uses: a user, or a network. */
  readonly share: string;
  readonly method: string;
  /** The path in one spelling, however the client percent-encoded it. */
  readonly path: string;
  /** The raw query of the request, without the question mark. */
  readonly query: string;
  readonly ifMatch: string | null;
  /** Identifies the set of readable fields. Empty if the set does not depend on the user. */
  readonly fields: string;
  /** The raw bytes of the body. Empty if the request has no body. */
  readonly body: Uint8Array;
}

export interface RequestOutcome {
  readonly reply: Reply;
  /** True if the transaction of the write has already stored the reply. */
  readonly isStored: boolean;
}

export interface IdempotencyContext
  extends AnswerStorageLimits, Pick<Runtime, "clock" | "random" | "observe"> {
  readonly store: IdempotencyStore;
}

/** The claim of a request, whose response uses the storage share of a client. */
export type RequestClaim = IdempotencyClaim & { readonly share: string };

export interface IdempotentWork {
  execute(claim: RequestClaim): Promise<RequestOutcome>;
  /** Throws if the caller has lost the right to the operation. */
  authorize(): Promise<void>;
  /** Counts a stored response among the responses in flight. Throws if there are too many. */
  send(reply: Reply): void;
}

/** The limits that a request with an idempotency key must pass before it is executed. */
export interface IdempotentAdmission {
  /** Returns true if the limits will probably refuse the request. The check uses up no tokens. */
  isDoubtful(): Promise<boolean>;
  /** Throws a 428 or 429 if the limits refuse the request. */
  admit(): void | Promise<void>;
  /** Restores the tokens that were taken, because replaying a response costs no tokens. */
  refund(): void;
}

/**
 * Executes a request with an Idempotency-Key, or replays the response to its first execution.
 * Identical requests are executed one at a time. Throws `idempotency-key-reused` (422) for another
 * request under the same key, and `idempotency-in-flight` (409) while the first one runs. Throws
 * every error of {@link IdempotentWork.authorize}.
 */
export async function answerOnce(
  request: IdempotentRequest,
  context: IdempotencyContext,
  work: IdempotentWork,
  admission: IdempotentAdmission | null,
): Promise<Reply> {
  const claim = claimFor(request, context);
  // A refused request writes nothing to the store, even in a flood of requests. Other requests pass
  // the limits once they hold the key. Therefore only one of several identical requests uses up the
  // solution of a challenge or the last token.
  const isDoubtful = admission !== null && await admission.isDoubtful();
  if (isDoubtful) {
    const found = await context.store.find(claim);
    if (found !== null) return await replay(found, claim, work);
    await admission.admit();
  }
  // Nothing is executed before the store has confirmed that no other request holds the key.
  const result = await context.store.claim(claim);
  if (result.kind !== "claimed") {
    admission?.refund();
    return await replay(result, claim, work);
  }
  const stopRenewing = keepRenewing(claim, context);
  let outcome: RequestOutcome;
  try {
    outcome = await refusalsAsReplies(async () => {
      if (!isDoubtful) await admission?.admit();
      await context.shares.reconcile(claim.share);
      return await work.execute(claim);
    });
  } catch (error) {
    await stopRenewing();
    await storeOutcome("release", claim, context);
    throw error;
  }
  await stopRenewing();
  const { reply, isStored } = outcome;
  if (!isStored) {
    const answer = toStoredResponse(reply, claim.share, context);
    await storeOutcome(answer ?? "release", claim, context);
  }
  return reply;
}

/** Returns the 409 for a repeated request while the first one is being executed. */
export function inFlightProblem(): Problem {
  return new Problem(
    "idempotency-in-flight",
    "A request with this Idempotency-Key is still running",
    { headers: { "retry-after": "1" } },
  );
}

/** Returns the claim of a request. Hashes JSON, in which no part can be mistaken for another. */
function claimFor(request: IdempotentRequest, { random }: IdempotencyContext): RequestClaim {
  const { key, identity, share, method, path, query, ifMatch, fields, body } = request;
  // If the caller may read fewer fields than before, the stored response does not match any more.
  const seen = fields === "" ? [] : [fields];
  const head = JSON.stringify([method, path, query, ifMatch, ...seen]);
  return {
    id: hashOf(JSON.stringify([identity, method, path, key])),
    // JSON contains no line break, so the body begins after the first one.
    fingerprint: hashOf(`${head}\n`, body),
    owner: bytesToHex(random.bytes(16)),
    // The store must not contain ids or addresses, so it contains their hashes.
    share: hashOf(JSON.stringify(share)),
  };
}

function hashOf(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("base64url");
}

async function replay(
  result: FoundKeyRecord,
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
  // The caller may have lost the right to read rows of the stored response.
  await work.authorize();
  if (result.answer === null) throw answerNotKeptProblem(null);
  const { status, headers, body } = result.answer;
  const reply = { status, headers: { ...headers, "idempotency-replayed": "true" }, body };
  work.send(reply);
  return reply;
}

/** Starts to renew the claim regularly. Returns the function that ends this. */
function keepRenewing(claim: IdempotencyClaim, { store, clock, observe }: IdempotencyContext) {
  let isStopped = false;
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
      // The failure is only reported, because two more renewals follow before the claim expires.
      observe({ kind: "idempotency_store_failed", error });
    }
    if (!isStopped) schedule();
  };
  schedule();
  return async () => {
    isStopped = true;
    cancel();
    await renewal;
  };
}

/** Converts an error to a reply to store, if the same request would fail again in the same way. */
async function refusalsAsReplies(work: () => Promise<RequestOutcome>): Promise<RequestOutcome> {
  try {
    return await work();
  } catch (error) {
    // The error is not final if a repetition could finish in time.
    const isFinal = error instanceof Problem && error.slug !== "query-too-expensive";
    const reply = isFinal ? problemReply(error) : null;
    if (reply === null || !isStorableReply(reply)) throw error;
    return { reply, isStored: false };
  }
}

/** Stores a response or releases the key. An error of the store is only reported. */
async function storeOutcome(
  outcome: StoredResponse | "release",
  claim: IdempotencyClaim,
  { store, observe }: IdempotencyContext,
): Promise<void> {
  try {
    await (outcome === "release" ? store.release(claim) : store.finish(claim, outcome));
  } catch (error) {
    observe({ kind: "idempotency_store_failed", error });
  }
}
