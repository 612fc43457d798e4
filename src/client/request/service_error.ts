import type { ProblemBody, ProblemSlug } from "../../protocol/problem_codes.ts";

/**
 * The kind of an error. Most kinds are the slug of a problem from the service. `network`: there was
 * no response. `timeout`: the response took too long. `unexpected-answer`: the response is not from
 * the service (perhaps from a proxy). `discarded`, `expired`, `storage`: an outbox's write failed.
 */
export type ServiceErrorSlug =
  | ProblemSlug
  | "network"
  | "timeout"
  | "unexpected-answer"
  | "discarded"
  | "expired"
  | "storage"
  | `http-${number}`;

/** The CAPTCHA that a request requires. */
export interface RequiredCaptcha {
  /** The name of the provider, for instance `turnstile`. */
  readonly provider: string;
  /** The public key with which a page shows the CAPTCHA. */
  readonly siteKey: string;
  /** The action for which the user must solve the CAPTCHA. Null if any action is valid. */
  readonly action: string | null;
}

/** The optional members of a {@link ServiceError}. */
export interface ServiceErrorFacts {
  /** The HTTP status of the response. */
  readonly status?: number;
  /** The problem document in the response body. */
  readonly problem?: ProblemBody | null;
  /** The delay that the service requests, in milliseconds. */
  readonly retryAfterMs?: number | null;
  /** The CAPTCHA that the user has to solve. */
  readonly captcha?: RequiredCaptcha | null;
  /** The error that caused this error. */
  readonly cause?: unknown;
}

/** The error of a request that was refused, or that received no usable response. */
export class ServiceError extends Error {
  /** Always `ServiceError`. */
  override readonly name: string = "ServiceError";
  /** The slug of the error, which says what failed. */
  readonly slug: ServiceErrorSlug;
  /** The HTTP status of the response, or 0 if there was no response. */
  readonly status: number = 0;
  /** The problem document in the response body, or null if there was none. */
  readonly problem: ProblemBody | null = null;
  /** The delay that the service requests, in milliseconds, or null if it requests none. */
  readonly retryAfterMs: number | null = null;
  /** The CAPTCHA that the user must solve, or null. */
  readonly captcha: RequiredCaptcha | null = null;

  /** Creates an error. Without a status, there was no response. */
  constructor(slug: ServiceErrorSlug, message: string, facts: ServiceErrorFacts = {}) {
    super(message, facts);
    this.slug = slug;
    Object.assign(this, facts);
  }
}

/** The error of a write that was refused with 412, because the row has changed. */
export class ConflictError extends ServiceError {
  /** Always `ConflictError`. */
  override readonly name: string = "ConflictError";

  /** The row's current ETag, or null if the service did not send it. */
  // The cast is safe: the service sends a string or nothing.
  readonly currentETag: string | null = this.problem?.details?.currentETag as string | undefined ??
    null;

  /** The service's suggestion for resolving the conflict, or null. */
  // The cast is safe: the service sends a string or nothing.
  readonly suggestion: string | null = this.problem?.details?.suggestion as string | undefined ??
    null;
}

/** Returns the error of a refused request. Subtracts `now` from a date in `Retry-After`. */
export async function errorOfResponse(response: Response, now?: number): Promise<ServiceError> {
  const { status, headers } = response;
  const after = headers.get("retry-after")!;
  // `after`: seconds or a date. Without the header, `ms` is NaN. The maximum, a day, fits a timer.
  const ms = Math.min(86_400_000, +after * 1000 || Date.parse(after) - now!);
  const facts = { status, retryAfterMs: Math.max(0, ms) || null };
  const problem = await response.json().catch(() => null);
  // In a problem of the service, `type` is the path of a page about the problem, or `about:blank`
  // for a middleware's error. Any other response is from a proxy or another service.
  const slug = "unexpected-answer";
  if (/^(\/([^/].*)?__service\/problems\/|about:blankHTTP)/.test(problem?.type + problem?.code)) {
    return errorOfProblem(problem, facts);
  }
  return new ServiceError(slug, `${slug}: ${status}`, facts);
}

export function errorOfProblem(problem: ProblemBody, facts: ServiceErrorFacts): ServiceError {
  const Kind = facts.status === 412 ? ConflictError : ServiceError;
  // The code is always the slug in capitals, even for a middleware's error: `HTTP_418`.
  const slug = problem.code.toLowerCase().replace(/_/g, "-") as ServiceErrorSlug;
  return new Kind(slug, problem.detail, { ...facts, problem });
}
