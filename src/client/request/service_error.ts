import type { ProblemBody, ProblemSlug } from "../../protocol/problem_codes.ts";

/**
 * The kind of an error: the slug of a problem of the service; `network` for a request without a
 * response; `timeout` for a response that took too long; `unexpected-answer` for a response that
 * does not come from the service, such as the page of a proxy. Writes of an outbox may also be
 * `discarded` or `expired`, or fail because of their `storage`.
 */
export type ServiceErrorSlug =
  | ProblemSlug
  | "network"
  | "timeout"
  | "unexpected-answer"
  | "discarded"
  | "expired"
  | "storage"
  // A middleware may respond with any status: `http-418`.
  | `http-${number}`;

/** The CAPTCHA that a request requires. */
export interface RequiredCaptcha {
  /** Name of the provider, for instance `turnstile`. */
  readonly provider: string;
  /** Public key with which a page shows the CAPTCHA. */
  readonly siteKey: string;
  /** Action for which the CAPTCHA has to be solved; null if any action is valid. */
  readonly action: string | null;
}

/** The facts of a {@link ServiceError} other than its slug and its message. */
export interface ServiceErrorFacts {
  /** Status of the response. */
  readonly status?: number;
  /** Body of the problem. */
  readonly problem?: ProblemBody | null;
  /** Delay that the service requests, in milliseconds. */
  readonly retryAfterMs?: number | null;
  /** CAPTCHA that has to be solved. */
  readonly captcha?: RequiredCaptcha | null;
  /** The error that caused this error. */
  readonly cause?: unknown;
}

/** An error of a request that was refused or had no usable response. */
export class ServiceError extends Error {
  /** Name of the class. */
  override readonly name: string = "ServiceError";
  /** Kind of the error. */
  readonly slug: ServiceErrorSlug;
  /** Status of the response; 0 if there was none. */
  readonly status: number = 0;
  /** Body of the problem; null if the response had none. */
  readonly problem: ProblemBody | null = null;
  /** The delay that the service requests, in milliseconds, or null if it requests none. */
  readonly retryAfterMs: number | null = null;
  /** The CAPTCHA to solve, or null for every other error. */
  readonly captcha: RequiredCaptcha | null = null;

  /** Creates an error. Without a status there was no response. */
  constructor(slug: ServiceErrorSlug, message: string, facts: ServiceErrorFacts = {}) {
    super(message, facts);
    this.slug = slug;
    Object.assign(this, facts);
  }
}

/** A write that the service refused with 412 because the row has changed. */
export class ConflictError extends ServiceError {
  /** Name of the class. */
  override readonly name: string = "ConflictError";

  /** The current ETag of the row, or null if the service did not send it. */
  // By contract this is a string or null.
  readonly currentETag: string | null = this.problem?.details?.currentETag as string | undefined ??
    null;

  /** Suggestion of the service, as a sentence; null if there is none. */
  // By contract this is a string.
  readonly suggestion: string | null = this.problem?.details?.suggestion as string | undefined ??
    null;
}

/** Returns the error for a refusal, or for a response that does not come from the service. */
export async function answerError(response: Response): Promise<ServiceError> {
  const { status, headers } = response;
  // The service sends whole seconds. Dates, which some proxies send, are ignored.
  const facts = { status, retryAfterMs: +headers.get("retry-after")! * 1000 || null };
  const problem = await response.json().catch(() => null);
  // The response is a problem with a page of the service, on its host, or an error that a
  // middleware has thrown. Otherwise it comes from a proxy or from another service.
  const slug = "unexpected-answer";
  if (/^(\/([^/].*)?__service\/problems\/|about:blankHTTP)/.test(problem?.type + problem?.code)) {
    return problemError(problem, facts);
  }
  return new ServiceError(slug, `${slug}: ${status}`, facts);
}

/** Returns the error for a problem of the service. */
export function problemError(problem: ProblemBody, facts: ServiceErrorFacts): ServiceError {
  const Kind = facts.status === 412 ? ConflictError : ServiceError;
  // By contract the code is the slug in capitals, even for a problem without a page: `HTTP_418`.
  const slug = problem.code.toLowerCase().replace(/_/g, "-") as ServiceErrorSlug;
  return new Kind(slug, problem.detail, { ...facts, problem });
}
