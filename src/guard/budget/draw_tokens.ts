import type { KeyChange } from "../../kv/hot_keys.ts";
import { type Bucket, type BucketPolicy, fullBucket, roundingTolerance } from "./token_bucket.ts";

/** How many tokens to take; to the floor means: as many of them as there are. */
export interface TokenDemand {
  readonly amount: number;
  readonly toFloor: boolean;
  /**
   * What the request has taken already, and brings back where it is not granted the rest. It goes
   * back in the same change: of requests that each hold a part of the last tokens, and want more,
   * the next in line finds what the one before has brought back.
   */
  readonly taken: number;
}

/** What the store holds for a caller. */
export interface BucketRecord extends Bucket {
  /** Grows with each change: tokens that were taken and put back leave the same bucket. */
  readonly changes: number;
}

/** What a request wants, and what its process knows. */
export interface DrawRequest extends TokenDemand {
  readonly total: Bucket;
  /** Goes back first. */
  readonly held: number;
  /** Stays where it is, and is in `total` as well. */
  readonly kept: number;
  readonly record: BucketRecord | null;
  /** The amount of the requests that a share is wanted for; 0 for no share. */
  readonly shareFor: number;
}

/** What came of it. */
export interface DrawResult {
  readonly isGranted: boolean;
  /** Negative where tokens were brought back. */
  readonly amount: number;
  readonly share: number;
  /** What is left in the store, now. */
  readonly bucket: Bucket;
  readonly record: BucketRecord | null;
}

/** What a caller's record becomes. */
export function drawTokens(
  value: unknown,
  draft: DrawRequest,
  limit: BucketPolicy,
  now: number,
): KeyChange<DrawResult> {
  const { amount, toFloor, taken, held, shareFor } = draft;
  const stored = isRecord(value) ? value : null;
  const { tokens, at } = availableBucket(stored, draft, limit, now);
  const isGranted = toFloor || tokens + roundingTolerance >= amount;
  const back = isGranted ? 0 : taken;
  const rest = isGranted ? Math.max(0, tokens - amount) : Math.min(limit.capacity, tokens + back);
  const share = shareFor > 0 && isGranted ? shareOf(rest, shareFor) : 0;
  const bucket = { tokens: rest - share, at };
  const drawn = { isGranted, amount: isGranted ? tokens - rest : -back, share, bucket };
  // A clock that was put right must be written down, or it would be put right each time anew.
  const isSetBack = stored !== null && at < stored.at;
  const isChanged = isGranted && amount + share > 0 || held + back > 0 || isSetBack;
  if (!isChanged) return { result: { ...drawn, record: stored } };
  const record = { ...bucket, changes: (stored?.changes ?? 0) + 1 };
  return {
    result: { ...drawn, record },
    record: { value: record, expireInMs: keepMs(bucket, limit, now) },
  };
}

/** All that is there now: in the store, and in the hands of the process that asks. */
function availableBucket(
  stored: BucketRecord | null,
  { total, held, kept, record }: DrawRequest,
  limit: BucketPolicy,
  now: number,
): Bucket {
  // Nobody else has written since, so that this process knows better when it has spent what. Where
  // there is no record any more, it was full.
  const isAlone = record !== null &&
    (stored === null || (stored.changes === record.changes && stored.tokens === record.tokens &&
      stored.at === record.at));
  if (isAlone) {
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
 * A quarter of what four processes may take each; nothing near the limit, where every token counts.
 * Enough for 32 requests wherever more than 512 of them are left.
 */
function shareOf(left: number, amount: number): number {
  const share = left / 16;
  return share < 2 * amount ? 0 : share;
}

/** Without a record a bucket is full, which it is by then. */
function keepMs(bucket: Bucket, limit: BucketPolicy, now: number): number | undefined {
  const waitMs = limit.waitMs(bucket, limit.capacity, now);
  return waitMs > maxKeepMs ? undefined : Math.max(1, Math.ceil(waitMs));
}

const maxKeepMs = 10 * 366 * 86_400_000;
