import type { AnswerStorageShares } from "../../idempotency/answer_shares.ts";
import { boundedMap } from "../../runtime/bounded_map.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { BucketPolicy } from "./token_bucket.ts";
import { tokenBucketPolicy } from "./token_bucket.ts";
import type { RateLimiter } from "./rate_limiter.ts";

/** Bytes that a client has used in this process and that other processes do not count yet. */
interface Unreconciled {
  bytes: number;
  /** True if too few bytes were left for the client when this process last reported its usage. */
  isUsedUp: boolean;
}

/**
 * Creates the limits on the bytes of stored responses, one limit for each client. Each client has a
 * bucket of bytes, which refills as its stored responses expire, after `ttlMs`. A process reports
 * to the bucket in the store only after each mebibyte, so most requests do not wait.
 */
export function createAnswerStorageShares(
  ttlMs: number,
  limiterOf: (policy: BucketPolicy) => RateLimiter,
): AnswerStorageShares {
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
      tokenBucketPolicy("answers", {
        capacity: shareBytes,
        refillPerMinute: shareBytes * 60_000 / ttlMs,
      }),
    );
    // The bytes are reset before the call, so a concurrent request does not report them again.
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

/** Space for the stored responses of one client, in bytes, over all processes. */
const shareBytes = 16 * 1024 ** 2;

/** A process reports a client's usage to the other processes when it reaches this many bytes. */
const reconciledBytes = 1024 ** 2;

/** Maximum bytes that a client may use in a process before the process reports them. */
const maxUnreconciledBytes = 4 * 1024 ** 2;
