import type { User } from "../../auth/user.ts";
import type { Runtime } from "../../runtime/runtime.ts";

/** What a trust hook decides a difficulty for. */
export interface TrustQuestion {
  /** Null for an anonymous caller. */
  readonly user: User | null;
  /** The request that is challenged. */
  readonly request: Request;
  /** `endpoint` for a gate that always applies, `budget` when a budget has run out. */
  readonly reason: "endpoint" | "budget";
  /** What the budget lacks for this request; 0 for an endpoint. */
  readonly deficit: number;
  /** The difficulty without the hook. */
  readonly base: number;
}

/** A trust hook, which gives the difficulty of the work for a request, 0 to demand none. */
export type Trust = (question: TrustQuestion) => number | Promise<number>;

/**
 * The largest difficulty that is ever demanded, and that the client's solver accepts: about a minute
 * on all cores of a good laptop. More would not be solved before it expires.
 */
export const maxDifficulty = 32;

/**
 * The difficulty that the trust hook gives, in whole bits. Where it fails or gives no usable
 * number, the caller is not trusted: the base applies, and the failure is observed.
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
 * The difficulty of the work once a budget has run out: any deficit costs a bit, which doubles the
 * work, and each further doubling of the deficit relative to the capacity costs another one.
 */
export function overflowDifficulty(base: number, deficit: number, capacity: number): number {
  const steps = deficit > 0 && capacity > 0 ? Math.ceil(Math.log2(1 + deficit / capacity)) : 0;
  return Math.min(base + steps, maxDifficulty);
}
