import type { ReadLimits } from "../../db/driver.ts";

/**
 * Returns the limits of a read for live streams. Clients choose which relations it follows, so its
 * cost is not known in advance. It waits in the queue of `identity` and delays no other statement.
 * `isLong` is true if the read will surely take long.
 */
export function liveReadLimits(identity: string, maxBytes: number, isLong = false): ReadLimits {
  return { identity, signal: unaborted, maxBytes, timeoutMs, isLong };
}

/** The identity for reads that serve streams of several users and IP addresses. */
export const sharedIdentity = "live streams";

/** A signal that never aborts: other streams need the result, even if one stream ends. */
const unaborted = new AbortController().signal;
const timeoutMs = 5_000;
