import type { Reply } from "../protocol/reply.ts";
import type { Problem } from "./problem.ts";

/** The answer to a problem: `application/problem+json` (RFC 9457). */
export function problemReply(problem: Problem): Reply {
  return {
    status: problem.status,
    headers: {
      "content-type": "application/problem+json",
      // A refusal may turn into an answer at any moment; nothing may keep it.
      "cache-control": "no-store",
      ...problem.headers,
    },
    body: JSON.stringify(problem.toBody()),
  };
}
