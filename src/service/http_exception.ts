import { STATUS_TEXT } from "@std/http/status";
import { Problem } from "../problem/problem.ts";
import type { ProblemBody, ProblemSlug } from "../protocol/problem_codes.ts";
import type { Reply } from "../protocol/reply.ts";

/**
 * An `HTTPException` of Hono, which middlewares throw to refuse a request. It is recognized by its
 * members, because a middleware may use another copy of Hono.
 */
export interface HttpException extends Error {
  readonly status: number;
  /** The response that the middleware gave the exception. */
  readonly res?: Response | undefined;
  getResponse(): Response;
}

/** Returns true if a thrown value is an `HTTPException` of any copy of Hono. */
export function isHttpException(error: unknown): error is HttpException {
  return error instanceof Error && "getResponse" in error &&
    typeof error.getResponse === "function" && "status" in error &&
    typeof error.status === "number";
}

/** The problem slugs of common statuses. Problems with other statuses have no `type`. */
const slugs: ReadonlyMap<number, ProblemSlug> = new Map([
  [400, "invalid-parameter"],
  [401, "unauthorized"],
  [403, "forbidden"],
  [404, "not-found"],
  [405, "method-not-allowed"],
  [408, "request-timeout"],
  [409, "conflict"],
  [412, "precondition-failed"],
  [413, "payload-too-large"],
  [415, "unsupported-media-type"],
  [422, "validation-error"],
  [428, "precondition-required"],
  [429, "rate-limit-exceeded"],
  [500, "internal-error"],
]);

export function exceptionReply({ status, message }: HttpException): Reply {
  return {
    status,
    headers: { "content-type": "application/problem+json", "cache-control": "no-store" },
    body: JSON.stringify(problemOfStatus(status, message)),
  };
}

/** Returns the problem document for a status. `message` may be empty. */
export function problemOfStatus(status: number, message: string): ProblemBody {
  const detail = message || "Refused on the way to the resource";
  const slug = slugs.get(status);
  if (slug !== undefined) return new Problem(slug, detail).toBody();
  return {
    // A problem that only repeats its status has this type (RFC 9457, 4.2.1).
    type: "about:blank",
    title: STATUS_TEXT[status] ?? `Status ${status}`,
    status,
    detail,
    code: `HTTP_${status}`,
  };
}
