import { bytesToHex } from "../protocol/byte_text.ts";
import { createHash } from "node:crypto";
import { Problem, problemReply } from "../problem/problem.ts";
import type { Reply } from "../protocol/reply.ts";
import {
  type FoundKeyRecord,
  type IdempotencyClaim,
  idempotencyLeaseMs,
  type IdempotencyStore,
  type StoredAnswer,
  type StoredResponse,
} from "./idempotency_store.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { Buffer } from "node:buffer";
import type { ResponseStorageShares } from "./answer_shares.ts";

interface IdempotentRequest {
  readonly key: string;
  /** Identifies the caller, so that a caller never receives another caller's response. */
  readonly identity: string;
  /** The client whose storage limit the response counts against: a user, or a network. */
  readonly share: string;
  readonly method: string;
  /** The path in a normal form, because clients can percent-encode it differently. */
  readonly path: string;
  readonly query: string;
  readonly ifMatch: string | null;
  /** Identifies the fields that the user can read; empty if these do not depend on the user. */
  readonly fields: string;
  readonly body: Uint8Array;
}

export interface RequestExecution {
  readonly reply: Reply;
  /** True if the write has stored the reply in its own transaction. */
  readonly isStored: boolean;
}

interface IdempotencyContext
  extends ResponseStorageLimits, Pick<Runtime, "clock" | "random" | "observe"> {
  readonly store: IdempotencyStore;
}

export type RequestClaim = IdempotencyClaim & { readonly share: string };

interface IdempotentWork {
  execute(claim: RequestClaim): Promise<RequestExecution>;
  authorize(): Promise<void>;
  /** Counts a replayed response as one that is being sent. Throws if too many are being sent. */
  send(reply: Reply): void;
}

export interface IdempotentAdmission {
  /** Returns true if a limit will probably refuse the request. Takes no tokens from the budget. */
  isDoubtful(): Promise<boolean>;
  admit(): void | Promise<void>;
  refund(): void;
}

/**
 * Executes a request, or replays the response to an equal earlier request. Throws
 * `idempotency-key-reused` (422) if a different request had the key, `idempotency-in-flight` (409)
 * while the first request runs, and the errors of {@link IdempotentWork.authorize}.
 */
export async function answerOnce(
  request: IdempotentRequest,
  context: IdempotencyContext,
  work: IdempotentWork,
  admission: IdempotentAdmission | null,
): Promise<Reply> {
  const claim = claimFor(request, context);
  // If the limits will probably refuse the request, checks them before the request claims its key,
  // so that a flood of requests does not fill the store. Otherwise checks them after the claim, so
  // that equal concurrent requests use up only one solved challenge or token.
  const isDoubtful = admission !== null && await admission.isDoubtful();
  if (isDoubtful) {
    const found = await context.store.find(claim);
    if (found !== null) return await replay(found, claim, work);
    await admission.admit();
  }
  // Executes nothing before the store has confirmed that no other request has the key.
  const result = await context.store.claim(claim);
  if (result.kind !== "claimed") {
    admission?.refund();
    return await replay(result, claim, work);
  }
  const stopRenewing = keepRenewing(claim, context);
  let outcome: RequestExecution;
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

export function inFlightProblem(): Problem {
  return new Problem(
    "idempotency-in-flight",
    "A request with this Idempotency-Key is still running",
    { headers: { "retry-after": "1" } },
  );
}

/** Returns a request's claim on its key. Hashes JSON: joined strings could be ambiguous. */
function claimFor(request: IdempotentRequest, { random }: IdempotencyContext): RequestClaim {
  const { key, identity, share, method, path, query, ifMatch, fields, body } = request;
  // If the readable fields have changed, the hash differs, so the stored response is not replayed.
  const seen = fields === "" ? [] : [fields];
  const head = JSON.stringify([method, path, query, ifMatch, ...seen]);
  return {
    id: hashOf(JSON.stringify([identity, method, path, key])),
    // The line break separates the JSON, which has no line breaks, from the body.
    fingerprint: hashOf(`${head}\n`, body),
    owner: bytesToHex(random.bytes(16)),
    // The store must contain no ids and no addresses, so it contains only a hash of the client.
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
  // The caller may no longer be allowed to read the rows in the stored response.
  await work.authorize();
  if (result.answer === null) throw answerNotKeptProblem(null);
  const { status, headers, body } = result.answer;
  const reply = { status, headers: { ...headers, "idempotency-replayed": "true" }, body };
  work.send(reply);
  return reply;
}

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
      // One failure is not fatal: the next renewal comes before the claim expires.
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

/** Runs the work. Returns its error as a reply if a repeated request would have the same error. */
async function refusalsAsReplies(work: () => Promise<RequestExecution>): Promise<RequestExecution> {
  try {
    return await work();
  } catch (error) {
    // If a query was too expensive, a repeated request may succeed, so the error is not final.
    const isFinal = error instanceof Problem && error.slug !== "query-too-expensive";
    const reply = isFinal ? problemReply(error) : null;
    if (reply === null || !isReplayableReply(reply)) throw error;
    return { reply, isStored: false };
  }
}

/** Stores the response, or releases the key. Reports errors of the store instead of rejecting. */
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

export interface ResponseStorageLimits {
  readonly shares: ResponseStorageShares;
  readonly ttlMs: number;
}

/** Null if the reply must not be replayed. Omits a long body if the client's space is full. */
export function toStoredResponse(
  reply: Reply,
  share: string,
  { shares, ttlMs }: ResponseStorageLimits,
): StoredResponse | null {
  const answer = storableAnswer(reply);
  if (answer === null) return null;
  const bytes = Buffer.byteLength(JSON.stringify(answer.headers)) +
    Buffer.byteLength(answer.body ?? "");
  if (bytes > maxAnswerBytes) return { answer: withoutBody(answer), keepMs: ttlMs };
  if (shares.take(share, bytes + recordBytes)) return { answer, keepMs: ttlMs };
  // Long enough for a repeated request, but too short for many responses to fill the store.
  const keepMs = Math.min(ttlMs, shortMs);
  return { answer: bytes > maxShortBytes ? withoutBody(answer) : answer, keepMs };
}

function answerNotKeptProblem(answer: StoredAnswer | null): Problem {
  const { status, headers: { location = "" } = {} } = answer ?? {};
  return new Problem(
    "idempotency-answer-not-kept",
    "The request with this Idempotency-Key was executed, and its answer was not kept",
    {
      details: {
        ...(status === undefined ? {} : { status }),
        ...(location === "" || location.length > maxLocation ? {} : { location }),
      },
    },
  );
}

/** The statuses below 500 that are not replayed, because a repetition can have another status. */
const transientStatuses: ReadonlySet<number> = new Set([401, 403, 408, 428, 429]);

function isReplayableReply({ status, body }: Reply): boolean {
  return status < 500 && !transientStatuses.has(status) && !(body instanceof ReadableStream);
}

/** The headers that are stored. Other headers concern the time or the connection. */
const replayedHeaders = ["content-type", "etag", "location", "cache-control", "allow"] as const;

function storableAnswer(reply: Reply): StoredAnswer | null {
  const { status, headers, body } = reply;
  if (!isReplayableReply(reply) || body instanceof ReadableStream) return null;
  const stored = replayedHeaders.flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { status, headers: Object.fromEntries(stored), body };
}

function withoutBody(answer: StoredAnswer): StoredAnswer {
  const { status, headers, body } = problemReply(answerNotKeptProblem(answer));
  return { status, headers, body: typeof body === "string" ? body : null };
}

const maxAnswerBytes = 1024 ** 2;

const recordBytes = 500;

/** How long a response is kept if its client's limit is used up, in milliseconds. */
const shortMs = 300_000;
const maxShortBytes = 16 * 1024;

const maxLocation = 500;
