import type { ReadLimits } from "../../db/driver.ts";

/**
 * The limits of what the database reads or evaluates for streams, along relations of their clients'
 * choice: it waits for the turn of `identity`, and delays no other statement. `isLong` where it is
 * known to take long.
 */
export function evaluationLimits(
  identity: string,
  maxBytes: number,
  isLong = false,
): ReadLimits {
  return { identity, signal: unaborted, maxBytes, timeoutMs, isLong };
}

/** Whose turn a read takes that serves the streams of several users and addresses together. */
export const sharedIdentity = "live streams";

/** Other streams need it as well. */
const unaborted = new AbortController().signal;
const timeoutMs = 5_000;
