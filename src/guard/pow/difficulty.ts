import type { User } from "../../auth/authorize.ts";
import type { Runtime } from "../../runtime/runtime.ts";

/** The argument of a trust hook. */
export interface TrustQuestion {
  /** The user, or null for an anonymous caller. */
  readonly user: User | null;
  /** The request for which proof of work is required. */
  readonly request: Request;
  /** `endpoint` if the operation always requires work, `budget` if the budget is used up. */
  readonly reason: "endpoint" | "budget";
  /** Number of tokens that the budget lacks for the request; 0 for the reason `endpoint`. */
  readonly deficit: number;
  /** The difficulty that applies without the hook. */
  readonly base: number;
}

/** A hook that returns the difficulty for a request; 0 requires no work. */
export type Trust = (question: TrustQuestion) => number | Promise<number>;

/** Maximum difficulty: about a minute of work for all cores of a fast laptop. */
export const maxDifficulty = 32;

/** Returns the trust hook's difficulty. If the hook fails, reports this and returns the default. */
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

/** Returns `base` plus one bit (twice the work) for each doubling of `1 + deficit / capacity`. */
export function difficultyOverBudget(base: number, deficit: number, capacity: number): number {
  const steps = deficit > 0 && capacity > 0 ? Math.ceil(Math.log2(1 + deficit / capacity)) : 0;
  return Math.min(base + steps, maxDifficulty);
}
