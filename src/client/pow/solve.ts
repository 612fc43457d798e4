import { type Described, group } from "../../options/option.ts";
import { callback, having, whole } from "../../options/option_kinds.ts";
import { findNonce, type SolveOptions } from "./find_nonce.ts";
import type { Challenge } from "./nonce_search.ts";

/** The options for solving a challenge, described. */
export const solveOptions = group(
  {
    signal: having<AbortSignal>("an AbortSignal", "aborted", "addEventListener"),
    workers: whole({ from: 0 }),
    makeWorker: callback<(script: string) => Worker>(),
  } satisfies Described<SolveOptions>,
).required();

/**
 * Solves a challenge of proof of work in the client: finds a nonce for which
 * `sha256(token + ":" + nonce)` begins with so many zero bits. It searches with workers and vectors
 * where they are available, and does not block this thread. Throws a RangeError for a difficulty
 * over 32, which no client solves in time.
 */
export async function solve(challenge: Challenge, options: SolveOptions = {}): Promise<string> {
  const read = solveOptions.read(options, { subject: "Cannot solve the challenge", path: "" });
  return await findNonce(challenge, read);
}
