import { type Bucket, type BucketPolicy, fullBucket, roundingTolerance } from "./token_bucket.ts";
import type { KeyChange } from "../../kv/key_change.ts";

/** How many tokens a request needs. With `toFloor`, it takes what is left if that is less. */
export interface TokenDemand {
  readonly amount: number;
  readonly toFloor: boolean;
  /** Tokens that the request already has. A failed draw puts them back for other requests. */
  readonly taken: number;
}

export interface BucketRecord extends Bucket {
  /** The number of changes, by which states of the record with equal tokens are distinguished. */
  readonly changes: number;
}

export interface DrawRequest extends TokenDemand {
  readonly total: Bucket;
  /** Number of leased tokens of this process, which the draw first returns to the bucket. */
  readonly held: number;
  /** Number of tokens that this process has spent without the store, and that the draw takes. */
  readonly owed: number;
  /** Number of leased tokens that this process keeps. They are included in `total`. */
  readonly kept: number;
  readonly record: BucketRecord | null;
  /** Expected number of tokens for each later request; 0 to lease no tokens for later requests. */
  readonly shareFor: number;
}

export interface DrawResult {
  readonly isGranted: boolean;
  readonly amount: number;
  readonly share: number;
  readonly bucket: Bucket;
  readonly record: BucketRecord | null;
}

export function drawTokens(
  value: unknown,
  request: DrawRequest,
  limit: BucketPolicy,
  now: number,
): KeyChange<DrawResult> {
  const { amount, toFloor, taken, held, owed, shareFor } = request;
  const stored = isRecord(value) ? value : null;
  const { tokens, at } = availableBucket(stored, request, limit, now);
  const isGranted = toFloor || tokens + roundingTolerance >= amount;
  const back = isGranted ? 0 : taken;
  const rest = isGranted ? Math.max(0, tokens - amount) : Math.min(limit.capacity, tokens + back);
  const share = shareFor > 0 && isGranted ? shareOf(rest, shareFor) : 0;
  const bucket = { tokens: rest - share, at };
  const drawn = { isGranted, amount: isGranted ? tokens - rest : -back, share, bucket };
  // Stores the corrected time; otherwise every later draw would correct it again.
  const isClockCorrected = stored !== null && at < stored.at;
  const isChanged = isGranted && amount + share > 0 || held + owed + back > 0 || isClockCorrected;
  if (!isChanged) return { result: { ...drawn, record: stored } };
  const record = { ...bucket, changes: (stored?.changes ?? 0) + 1 };
  return {
    result: { ...drawn, record },
    record: { value: record, expireInMs: keepMs(bucket, limit, now) },
  };
}

function availableBucket(
  stored: BucketRecord | null,
  { total, held, owed, kept, record }: DrawRequest,
  limit: BucketPolicy,
  now: number,
): Bucket {
  // If no other process has changed the record, the state in this process is more exact than the
  // record. A missing record has expired, because the bucket was full.
  const isUnchanged = record !== null &&
    (stored === null || (stored.changes === record.changes && stored.tokens === record.tokens &&
      stored.at === record.at));
  if (isUnchanged) {
    const { tokens, at } = limit.refill(total, now);
    return { tokens: Math.max(0, tokens - kept), at };
  }
  const bucket = stored === null ? fullBucket(limit, now) : limit.refill(stored, now);
  const back = limit.isSameSpan(bucket, total) ? held : 0;
  const tokens = Math.min(limit.capacity, bucket.tokens + back - owed);
  return { tokens: Math.max(0, tokens), at: bucket.at };
}

function isRecord(value: unknown): value is BucketRecord {
  return typeof value === "object" && value !== null && "tokens" in value && "at" in value &&
    "changes" in value && typeof value.tokens === "number" && typeof value.at === "number" &&
    typeof value.changes === "number";
}

/** Returns how many tokens to lease: a sixteenth of those left, or 0 near the limit. */
function shareOf(left: number, amount: number): number {
  const share = left / 16;
  return share < 2 * amount ? 0 : share;
}

/** Returns for how many ms a record is kept: until the bucket is full and needs no record. */
function keepMs(bucket: Bucket, limit: BucketPolicy, now: number): number | undefined {
  const waitMs = limit.waitMs(bucket, limit.capacity, now);
  return waitMs > maxKeepMs ? undefined : Math.max(1, Math.ceil(waitMs));
}

const maxKeepMs = 10 * 366 * 86_400_000;
