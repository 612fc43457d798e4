import type { User } from "../../auth/user.ts";
import type { Runtime } from "../../runtime/runtime.ts";

/** The facts from which a trust hook determines a difficulty. */
export interface TrustQuestion {
  /** Null for an anonymous caller. */
  readonly user: User | null;
  /** The challenged request. */
  readonly request: Request;
  /** `endpoint` for a gate that always applies, `budget` for an exhausted budget. */
  readonly reason: "endpoint" | "budget";
  /** Number of tokens that the budget lacks for this request; 0 for an endpoint. */
  readonly deficit: number;
  /** The difficulty without the hook. */
  readonly base: number;
}

/** A trust hook. It returns the difficulty of the work for a request, or 0 to require no work. */
export type Trust = (question: TrustQuestion) => number | Promise<number>;

/**
 * Maximum difficulty that is required, and that the client's solver accepts: about a minute on all
 * cores of a good laptop. A challenge with a higher difficulty would expire before it is solved.
 */
export const maxDifficulty = 32;

/**
 * Returns the difficulty from the trust hook, in whole bits. If the hook fails or returns no usable
 * number, the caller is not trusted. The base difficulty applies then, and the failure is observed.
 */
export async function callTrust(
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
 * Returns the difficulty after a budget has run out. Any deficit costs a bit, which doubles the
 * work, and each doubling of the deficit relative to the capacity costs another bit.
 */
export function overflowDifficulty(base: number, deficit: number, capacity: number): number {
  const steps = deficit > 0 && capacity > 0 ? Math.ceil(Math.log2(1 + deficit / capacity)) : 0;
  return Math.min(base + steps, maxDifficulty);
}
