import type { ReadLimits } from "../../db/driver.ts";

/**
 * The limits of what the database reads or evaluates for many streams together, along relations of
 * their clients' choice: it waits for its turn, and delays no other statement. `isLong` where it is
 * known to take long.
 */
export function evaluationLimits(maxBytes: number, isLong = false): ReadLimits {
  return { identity: "live streams", signal: unaborted, maxBytes, timeoutMs, isLong };
}

/** Other streams need it as well. */
const unaborted = new AbortController().signal;
const timeoutMs = 5_000;
