import { problemTypeBase } from "../protocol/problem_codes.ts";
import type { Reply } from "../protocol/reply.ts";

/**
 * Returns the response with `prefix`, the mount path of the app, in its URLs. Responses are
 * created, and stored under an `Idempotency-Key`, without the prefix.
 */
export function addPrefixToReply(reply: Reply, prefix: string): Reply {
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
