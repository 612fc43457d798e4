import { Problem } from "../problem/problem.ts";

/** A 503 for a search whose engine does not answer, or whose index is not filled. */
export function searchUnavailable(reason: string, cause?: unknown): Problem {
  return new Problem("search-unavailable", `Cannot search now: ${reason}`, {
    cause,
    headers: { "retry-after": "2" },
  });
}
