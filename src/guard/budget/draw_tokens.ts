import type { KeyChange } from "../../kv/key_change.ts";
import { type Bucket, type BucketPolicy, fullBucket, roundingTolerance } from "./token_bucket.ts";

/** The number of tokens that a request needs. `toFloor` accepts fewer if fewer remain. */
export interface TokenDemand {
  readonly amount: number;
  readonly toFloor: boolean;
  /**
   * Number of tokens that the request already holds. If the bucket cannot supply the rest, the draw
   * returns the held tokens. Otherwise several requests could each hold a part of the last tokens,
   * and none would get enough.
   */
  readonly taken: number;
}

export interface BucketRecord extends Bucket {
  /** Number of changes to the record. It also shows changes that left the token count the same. */
  readonly changes: number;
}

/** A demand for tokens, and the state of the bucket as far as the process has seen it. */
export interface DrawRequest extends TokenDemand {
  readonly total: Bucket;
  /** Number of tokens that the process has leased. The draw first returns them to the bucket. */
  readonly held: number;
  /** Number of leased tokens that the process keeps. `total` includes these tokens. */
  readonly kept: number;
  readonly record: BucketRecord | null;
  /** Tokens of one request, which determine the size of the next lease. 0 leases no tokens. */
  readonly shareFor: number;
}

export interface DrawResult {
  readonly isGranted: boolean;
  /** Number of tokens that were drawn. Negative if tokens were returned. */
  readonly amount: number;
  readonly share: number;
  /** The tokens that remain in the store after the draw. */
  readonly bucket: Bucket;
  readonly record: BucketRecord | null;
}

/** Draws tokens from a bucket. Returns the new record and the result, without side effects. */
export function drawTokens(
  value: unknown,
  request: DrawRequest,
  limit: BucketPolicy,
  now: number,
): KeyChange<DrawResult> {
  const { amount, toFloor, taken, held, shareFor } = request;
  const stored = isRecord(value) ? value : null;
  const { tokens, at } = availableBucket(stored, request, limit, now);
  const isGranted = toFloor || tokens + roundingTolerance >= amount;
  const back = isGranted ? 0 : taken;
  const rest = isGranted ? Math.max(0, tokens - amount) : Math.min(limit.capacity, tokens + back);
  const share = shareFor > 0 && isGranted ? shareOf(rest, shareFor) : 0;
  const bucket = { tokens: rest - share, at };
  const drawn = { isGranted, amount: isGranted ? tokens - rest : -back, share, bucket };
  // The record stores the corrected time. Otherwise every later draw would correct the time again.
  const isClockCorrected = stored !== null && at < stored.at;
  const isChanged = isGranted && amount + share > 0 || held + back > 0 || isClockCorrected;
  if (!isChanged) return { result: { ...drawn, record: stored } };
  const record = { ...bucket, changes: (stored?.changes ?? 0) + 1 };
  return {
    result: { ...drawn, record },
    record: { value: record, expireInMs: keepMs(bucket, limit, now) },
  };
}

/** Returns the available tokens: those in the store, and those that the process has leased. */
function availableBucket(
  stored: BucketRecord | null,
  { total, held, kept, record }: DrawRequest,
  limit: BucketPolicy,
  now: number,
): Bucket {
  // If no other process has written, this process knows more exactly when tokens were spent. A
  // missing record has expired, because the bucket was full.
  const isUnchanged = record !== null &&
    (stored === null || (stored.changes === record.changes && stored.tokens === record.tokens &&
      stored.at === record.at));
  if (isUnchanged) {
    const { tokens, at } = limit.refill(total, now);
    return { tokens: Math.max(0, tokens - kept), at };
  }
  const bucket = stored === null ? fullBucket(limit, now) : limit.refill(stored, now);
  const back = limit.isSameSpan(bucket, total) ? held : 0;
  return { tokens: Math.min(limit.capacity, bucket.tokens + back), at: bucket.at };
}

function isRecord(value: unknown): value is BucketRecord {
  return typeof value === "object" && value !== null && "tokens" in value && "at" in value &&
    "changes" in value && typeof value.tokens === "number" && typeof value.at === "number" &&
    typeof value.changes === "number";
}

/**
 * Returns the number of tokens to lease: a sixteenth of the remaining tokens, so four processes
 * lease a quarter. Returns 0 near the limit, when every token counts.
 */
function shareOf(left: number, amount: number): number {
  const share = left / 16;
  return share < 2 * amount ? 0 : share;
}

/** Returns the milliseconds to keep a record: until its bucket is full and needs no record. */
function keepMs(bucket: Bucket, limit: BucketPolicy, now: number): number | undefined {
  const waitMs = limit.waitMs(bucket, limit.capacity, now);
  return waitMs > maxKeepMs ? undefined : Math.max(1, Math.ceil(waitMs));
}

const maxKeepMs = 10 * 366 * 86_400_000;
