import { groupOf } from "../../options/option.ts";
import { callback, objectWith, whole } from "../../options/option_kinds.ts";
import { findNonce, type SolveOptions } from "./find_nonce.ts";
import type { Challenge } from "./nonce_search.ts";

export const solveOptionRules = groupOf<SolveOptions>()({
  signal: objectWith<AbortSignal>("an AbortSignal", "aborted", "addEventListener"),
  workers: whole({ from: 0 }),
  makeWorker: callback<(script: string) => Worker>(),
}).required();

/**
 * Solves a proof-of-work challenge in the client. Finds a nonce for which
 * `sha256(token + ":" + nonce)` begins with the required number of zero bits. The search uses
 * workers and SIMD if they are available, and does not block this thread.
 *
 * @throws {RangeError} If the difficulty is over 32, which no client can solve in time.
 */
export async function solve(challenge: Challenge, options: SolveOptions = {}): Promise<string> {
  const read = solveOptionRules.read(options, { subject: "Cannot solve the challenge", path: "" });
  return await findNonce(challenge, read);
}
