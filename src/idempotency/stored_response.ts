import { Buffer } from "node:buffer";
import { Problem, problemReply } from "../problem/problem.ts";
import type { Reply } from "../protocol/reply.ts";
import type { ResponseStorageShares } from "./answer_shares.ts";
import type { StoredAnswer, StoredResponse } from "./idempotency_store.ts";

export interface ResponseStorageLimits {
  readonly shares: ResponseStorageShares;
  readonly ttlMs: number;
}

/**
 * Returns the response to store for repetitions, or null if the reply must not be replayed. A body
 * that is too large is omitted. If the client's limit is used up, long bodies are omitted, and the
 * response is kept for at most five minutes.
 */
export function toStoredResponse(
  reply: Reply,
  share: string,
  { shares, ttlMs }: ResponseStorageLimits,
): StoredResponse | null {
  const answer = storableAnswer(reply);
  if (answer === null) return null;
  const bytes = sizeOf(answer);
  if (bytes > maxAnswerBytes) return { answer: withoutBody(answer), keepMs: ttlMs };
  if (shares.take(share, bytes + recordBytes)) return { answer, keepMs: ttlMs };
  // Long enough for a client that connects again, but too short to fill the store.
  const keepMs = Math.min(ttlMs, shortMs);
  return { answer: bytes > maxShortBytes ? withoutBody(answer) : answer, keepMs };
}

/** Returns the error for a repetition if the first response was not stored completely. */
export function answerNotKeptProblem(answer: StoredAnswer | null): Problem {
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

/** The statuses below 500 that a repetition may not have. */
const transientStatuses: ReadonlySet<number> = new Set([401, 403, 408, 428, 429]);

/** Returns true if a repetition would have the same reply. */
export function isReplayableReply({ status, body }: Reply): boolean {
  return status < 500 && !transientStatuses.has(status) && !(body instanceof ReadableStream);
}

/** The headers to replay. Others concern the time or the connection. */
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

/** Returns the approximate size of a stored response as JSON, in bytes. */
function sizeOf({ headers, body }: StoredAnswer): number {
  return Buffer.byteLength(JSON.stringify(headers)) + Buffer.byteLength(body ?? "");
}

const maxAnswerBytes = 1024 ** 2;

/** Approximate size of a record without its response, in bytes. */
const recordBytes = 500;

/** How long a response is kept if its client's limit is used up, in milliseconds. */
const shortMs = 300_000;
const maxShortBytes = 16 * 1024;

const maxLocation = 500;
