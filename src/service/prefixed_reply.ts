import { problemTypeBase } from "../protocol/problem_codes.ts";
import type { Reply } from "../protocol/reply.ts";

/**
 * Returns the reply of an app that is mounted at `prefix`. The original reply was created, and
 * possibly stored under an `Idempotency-Key`, for an app at the root path.
 */
export function prefixedReply(reply: Reply, prefix: string): Reply {
  if (prefix === "") return reply;
  const { headers, body } = reply;
  const { location } = headers;
  const isProblem = headers["content-type"] === "application/problem+json";
  return {
    ...reply,
    headers: location?.startsWith("/") ? { ...headers, location: prefix + location } : headers,
    body: isProblem && typeof body === "string" ? prefixedProblem(body, prefix) : body,
  };
}

function prefixedProblem(body: string, prefix: string): string {
  const problem: { readonly type: string } = JSON.parse(body);
  return problem.type.startsWith(problemTypeBase)
    ? JSON.stringify({ ...problem, type: prefix + problem.type })
    : body;
}
