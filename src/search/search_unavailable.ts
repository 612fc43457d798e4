import { Problem } from "../problem/problem.ts";

/** Returns the 503 for a search whose engine does not respond or whose index is not filled yet. */
export function searchUnavailable(reason: string, cause?: unknown): Problem {
  return new Problem("search-unavailable", `Cannot search now: ${reason}`, {
    cause,
    headers: { "retry-after": "2" },
  });
}
