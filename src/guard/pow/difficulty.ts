import type { User } from "../../auth/user.ts";
import type { Runtime } from "../../runtime/runtime.ts";

/** The arguments of a trust hook. */
export interface TrustQuestion {
  /** The user, or null for an anonymous caller. */
  readonly user: User | null;
  /** The request that needs the proof of work. */
  readonly request: Request;
  /** `endpoint` if the operation always requires the work, `budget` if the budget is used up. */
  readonly reason: "endpoint" | "budget";
  /** Number of tokens that the budget lacks for this request. 0 for the reason `endpoint`. */
  readonly deficit: number;
  /** The difficulty that applies without the hook. */
  readonly base: number;
}

/** A trust hook. It returns the difficulty of the work for a request, or 0 for no work. */
export type Trust = (question: TrustQuestion) => number | Promise<number>;

/**
 * Maximum difficulty of a challenge, which takes all cores of a good laptop about a minute.
 * Solutions at a higher difficulty would come after the challenge has expired.
 */
export const maxDifficulty = 32;

/**
 * Calls the trust hook, and returns its difficulty in whole bits. If the hook fails or does not
 * return a valid number, the base difficulty applies, and the failure is reported.
 */
export async function callTrustHook(
  trust: Trust | undefined,
  question: TrustQuestion,
  { observe }: Runtime,
): Promise<number> {
  if (trust === undefined) return question.base;
  try {
    const difficulty = await trust(question);
    if (Number.isFinite(difficulty) && difficulty >= 0) {
      return Math.min(Math.ceil(difficulty), maxDifficulty);
    }
    throw new RangeError(`The trust hook gave ${String(difficulty)}, which is no difficulty`);
  } catch (error) {
    observe({ kind: "trust_failed", error });
    return question.base;
  }
}

/**
 * Returns the difficulty when the budget is used up. Any deficit adds one bit, which doubles the
 * work. Each doubling of the deficit, relative to the capacity, adds another bit.
 */
export function overflowDifficulty(base: number, deficit: number, capacity: number): number {
  const steps = deficit > 0 && capacity > 0 ? Math.ceil(Math.log2(1 + deficit / capacity)) : 0;
  return Math.min(base + steps, maxDifficulty);
}
