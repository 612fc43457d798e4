import type { ReadLimits } from "../../db/driver.ts";

/**
 * Returns the limits of reads and evaluations for streams, whose clients choose the relations that
 * are read. A read waits in the queue of `identity` and delays no other statement. `isLong` is true
 * if the read is known to take long.
 */
export function evaluationLimits(
  identity: string,
  maxBytes: number,
  isLong = false,
): ReadLimits {
  return { identity, signal: unaborted, maxBytes, timeoutMs, isLong };
}

/** Identity for reads that serve the streams of several users and addresses. */
export const sharedIdentity = "live streams";

/** A signal that never aborts, because other streams need the read too. */
const unaborted = new AbortController().signal;
const timeoutMs = 5_000;
