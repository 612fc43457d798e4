import type { ResponseStorageShares } from "../../idempotency/answer_shares.ts";
import { boundedMap } from "../../runtime/bounded_map.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { BucketPolicy } from "./token_bucket.ts";
import { tokenBucketPolicy } from "./token_bucket.ts";
import type { RateLimiter } from "./rate_limiter.ts";

/** Bytes that a client has used in this process, of which other processes do not know yet. */
interface Unreconciled {
  bytes: number;
  /** True if the client had too few bytes left at this process's last report. */
  isUsedUp: boolean;
}

/**
 * Creates limits on the bytes of stored responses, one for each client. Each client has a bucket of
 * bytes, which refills within `ttlMs`, because its stored responses expire. A process reports to
 * the bucket in the store only after each mebibyte, so that most requests do not wait.
 */
export function createResponseStorageShares(
  ttlMs: number,
  limiterOf: (policy: BucketPolicy) => RateLimiter,
): ResponseStorageShares {
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
    // Reset before the call, so that no concurrent request reports these bytes again.
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

/** Maximum size of one client's stored responses in all processes, in bytes. */
const shareBytes = 16 * 1024 ** 2;

/** When a client has used this number of bytes, the process reports them to the store. */
const reconciledBytes = 1024 ** 2;

/** Maximum bytes of a client that a process accepts before they are reported. */
const maxUnreconciledBytes = 4 * 1024 ** 2;
