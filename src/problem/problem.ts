import {
  type ProblemBody,
  problemCode,
  problemCodes,
  type ProblemSlug,
  problemTypeBase,
} from "../protocol/problem_codes.ts";
import type { Reply } from "../protocol/reply.ts";

/** The options of a problem in addition to its message. */
export interface ProblemOptions {
  /** Machine-readable `details` of the response, which must contain no hidden values and no SQL. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  /** The status of the response. Default: the status of the problem code. */
  readonly status?: number | undefined;
  /** The headers of the response, for example `allow` or `retry-after`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The cause of the problem. The cause is logged, but never sent. */
  readonly cause?: unknown;
}

/**
 * A problem: an error of the caller, with one of the problem codes. Hooks, procedures and
 * authenticators throw a problem to reject a request. After any other error, the response is a 500
 * without details, and an observation contains the error.
 *
 * @example
 * ```ts
 * import { Problem } from "@svc/resource-api";
 *
 * const problem = new Problem("forbidden", "Cannot publish: the note is locked");
 * console.log(problem.status); // 403
 * ```
 */
export class Problem extends Error {
  /** The last segment of the problem's `type`. */
  readonly slug: ProblemSlug;
  /** The status of the response. */
  readonly status: number;
  /** The machine-readable `details` of the response. */
  readonly details: Readonly<Record<string, unknown>> | undefined;
  /** Headers of the response. */
  readonly headers: Readonly<Record<string, string>>;

  /** Creates a problem. Clients receive `detail`: it must contain no SQL and no hidden values. */
  constructor(slug: ProblemSlug, detail: string, options: ProblemOptions = {}) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "Problem";
    this.slug = slug;
    this.status = options.status ?? problemCodes[slug].status;
    this.details = options.details;
    this.headers = options.headers ?? {};
  }

  /** Returns a copy of this problem with other headers. */
  withHeaders(headers: Readonly<Record<string, string>>): Problem {
    const { slug, message, status, details, cause } = this;
    return new Problem(slug, message, { status, details, headers, cause });
  }

  /** Returns the body of the response. */
  toBody(): ProblemBody {
    return {
      type: problemTypeBase + this.slug,
      title: problemCodes[this.slug].title,
      status: this.status,
      detail: this.message,
      code: problemCode(this.slug),
      ...(this.details === undefined ? {} : { details: this.details }),
    };
  }
}

export function invalidParameter(detail: string, options: ProblemOptions = {}): Problem {
  return new Problem("invalid-parameter", detail, options);
}

export function problemReply(problem: Problem): Reply {
  return {
    status: problem.status,
    headers: {
      "content-type": "application/problem+json",
      // Caches must not store the response, because the next request can succeed.
      "cache-control": "no-store",
      ...problem.headers,
    },
    body: JSON.stringify(problem.toBody()),
  };
}
