import { Problem } from "../problem/problem.ts";

/** The page sizes of a resource. */
export interface PageLimits {
  readonly defaultLimit: number;
  readonly maxLimit: number;
}

/** `limit` → the page size, at most `maxLimit`. Throws a 400 unless it is a whole number over 0. */
export function parseLimit(text: string | null, limits: PageLimits): number {
  if (text === null) return limits.defaultLimit;
  if (!/^[0-9]+$/.test(text) || Number(text) === 0) {
    throw new Problem(
      "invalid-parameter",
      "Cannot use this limit: it must be a whole number over 0",
    );
  }
  return Math.min(Number(text), limits.maxLimit);
}
