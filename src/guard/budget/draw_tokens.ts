import type { KeyChange } from "../../kv/key_change.ts";
import { type Bucket, type BucketPolicy, fullBucket, roundingTolerance } from "./token_bucket.ts";

/**
 * The number of tokens that a request draws. With `toFloor`, it draws as many of them as there are.
 */
export interface TokenDemand {
  readonly amount: number;
  readonly toFloor: boolean;
  /**
   * The tokens that the request has already taken. If the draw does not grant the rest, it returns
   * these tokens in the same change. If several requests each hold a part of the last tokens and
   * need more, the next request finds the tokens that the previous one has returned.
   */
  readonly taken: number;
}

/** The record in the store of the caller's bucket that tokens are drawn from. */
export interface BucketRecord extends Bucket {
  /** The number of changes, because tokens that were taken and returned leave an equal bucket. */
  readonly changes: number;
}

/** A request to draw tokens, and the state of the bucket that its process knows. */
export interface DrawRequest extends TokenDemand {
  readonly total: Bucket;
  /** The tokens leased by the process. The draw returns them first. */
  readonly held: number;
  /** The tokens that the process keeps, which are part of `total`. */
  readonly kept: number;
  readonly record: BucketRecord | null;
  /** Amount of the requests for which a share is leased; 0 for no share. */
  readonly shareFor: number;
}

/** The outcome of drawing tokens from a bucket. */
export interface DrawResult {
  readonly isGranted: boolean;
  /** Number of drawn tokens; negative if tokens were returned. */
  readonly amount: number;
  readonly share: number;
  /** The remaining tokens in the store. */
  readonly bucket: Bucket;
  readonly record: BucketRecord | null;
}

/**
 * Draws tokens from a bucket: returns its record after the draw, and the result. A pure function.
 */
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
  // A corrected clock must be stored. Otherwise every later draw would correct the clock again.
  const isClockCorrected = stored !== null && at < stored.at;
  const isChanged = isGranted && amount + share > 0 || held + back > 0 || isClockCorrected;
  if (!isChanged) return { result: { ...drawn, record: stored } };
  const record = { ...bucket, changes: (stored?.changes ?? 0) + 1 };
  return {
    result: { ...drawn, record },
    record: { value: record, expireInMs: keepMs(bucket, limit, now) },
  };
}

/** Returns all available tokens: those in the store, and those leased by the process. */
function availableBucket(
  stored: BucketRecord | null,
  { total, held, kept, record }: DrawRequest,
  limit: BucketPolicy,
  now: number,
): Bucket {
  // No other process has written since then, so this process has more exact times of spending. A
  // missing record has expired, because its bucket was full.
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
 * Returns a sixteenth of the remaining tokens, so that four processes lease a quarter. Returns 0
 * near the limit, where every token counts. With more than 512 left, a share suffices for 32
 * requests.
 */
function shareOf(left: number, amount: number): number {
  const share = left / 16;
  return share < 2 * amount ? 0 : share;
}

/** Returns the retention of a record: until the bucket is full, as a missing record means. */
function keepMs(bucket: Bucket, limit: BucketPolicy, now: number): number | undefined {
  const waitMs = limit.waitMs(bucket, limit.capacity, now);
  return waitMs > maxKeepMs ? undefined : Math.max(1, Math.ceil(waitMs));
}

const maxKeepMs = 10 * 366 * 86_400_000;
