import type { AnswerShares } from "../../idempotency/answer_shares.ts";
import { boundedMap } from "../../runtime/bounded_map.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { BucketPolicy } from "./token_bucket.ts";
import { tokenBucket } from "./token_bucket.ts";
import type { RateLimiter } from "./rate_limiter.ts";

/** The bytes that a client has used in this process and that other processes do not count yet. */
interface Unreconciled {
  bytes: number;
  /** True if the last attempt to reconcile found too little left. */
  isUsedUp: boolean;
}

/**
 * Creates the shares of clients in the space for stored responses. Each share is a bucket of bytes,
 * which refills while stored responses expire. `ttlMs` is the retention of these responses. The
 * bucket is called only once a client has taken a mebibyte in this process. Therefore most requests
 * do not wait for it.
 */
export function createAnswerShares(
  ttlMs: number,
  limiterOf: (policy: BucketPolicy) => RateLimiter,
): AnswerShares {
  const clients = boundedMap<string, Unreconciled>(50_000);
  let limiter: RateLimiter | null = null;

  function unreconciledOf(share: string): Unreconciled {
    const known = clients.get(share);
    if (known !== undefined) return known;
    const fresh = { bytes: 0, isUsedUp: false };
    clients.set(share, fresh);
    return fresh;
  }

  async function reconcileMuch(share: string, unreconciled: Unreconciled): Promise<void> {
    limiter ??= limiterOf(
      tokenBucket("answers", {
        capacity: shareBytes,
        refillPerMinute: shareBytes * 60_000 / ttlMs,
      }),
    );
    // The bytes are reset before waiting, so that a concurrent request does not reconcile them
    // again.
    const { bytes } = unreconciled;
    unreconciled.bytes = 0;
    const { isGranted } = await limiter.take(share, bytes);
    if (!isGranted) unreconciled.bytes += bytes;
    unreconciled.isUsedUp = !isGranted;
  }

  return {
    reconcile(share): MaybePromise<void> {
      const unreconciled = unreconciledOf(share);
      if (unreconciled.bytes >= reconciledBytes) return reconcileMuch(share, unreconciled);
    },
    take(share, bytes) {
      const unreconciled = unreconciledOf(share);
      if (unreconciled.isUsedUp || unreconciled.bytes + bytes > maxUnreconciledBytes) return false;
      unreconciled.bytes += bytes;
      return true;
    },
  };
}

/** The space for the responses of one client, in all processes, in bytes. */
const shareBytes = 16 * 1024 ** 2;

/** The number of bytes of a client from which a process reconciles before the next request. */
const reconciledBytes = 1024 ** 2;

/**
 * The bytes that concurrent requests of a client may take in a process before they are reconciled.
 */
const maxUnreconciledBytes = 4 * 1024 ** 2;
