import type { ProblemBody, ProblemSlug } from "../../protocol/problem_codes.ts";

/**
 * What went wrong with a request: the slug of a problem of the service, `network` for a request
 * without an answer, `timeout` for one whose answer took too long, `unexpected-answer` for one that
 * the service would not give, as the page of a proxy. Writes of an outbox may also be `discarded`,
 * `expired`, or refused by their `storage`.
 */
export type ServiceErrorSlug =
  | ProblemSlug
  | "network"
  | "timeout"
  | "unexpected-answer"
  | "discarded"
  | "expired"
  | "storage"
  // A middleware may answer with any status: `http-418`.
  | `http-${number}`;

/** The CAPTCHA that a request requires. */
export interface RequiredCaptcha {
  /** Such as `turnstile`. */
  readonly provider: string;
  /** The public key that a page shows the CAPTCHA with. */
  readonly siteKey: string;
  /** The action that the CAPTCHA is solved for; null if any passes. */
  readonly action: string | null;
}

/** The facts of a {@link ServiceError} beside its slug and its message. */
export interface ServiceErrorFacts {
  /** The status of the answer. */
  readonly status?: number;
  /** The body of the problem. */
  readonly problem?: ProblemBody | null;
  /** How long the service asks to wait. */
  readonly retryAfterMs?: number | null;
  /** The CAPTCHA that has to be solved. */
  readonly captcha?: RequiredCaptcha | null;
  /** The error that led to this one. */
  readonly cause?: unknown;
}

/** A request that was refused, or had no usable answer. */
export class ServiceError extends Error {
  /** The name of the class. */
  override readonly name: string = "ServiceError";
  /** What went wrong. */
  readonly slug: ServiceErrorSlug;
  /** The status of the answer; 0 where there was none. */
  readonly status: number = 0;
  /** The body of the problem; null if the answer had none. */
  readonly problem: ProblemBody | null = null;
  /** How long the service asks to wait; null if it does not say. */
  readonly retryAfterMs: number | null = null;
  /** The CAPTCHA that has to be solved; null for every other error. */
  readonly captcha: RequiredCaptcha | null = null;

  /** Makes an error; without a status there was no answer. */
  constructor(slug: ServiceErrorSlug, message: string, facts: ServiceErrorFacts = {}) {
    super(message, facts);
    this.slug = slug;
    Object.assign(this, facts);
  }
}

/** A write that was refused because the row has changed: 412. */
export class ConflictError extends ServiceError {
  /** The name of the class. */
  override readonly name: string = "ConflictError";

  /** The current tag of the row; null if the service did not say it. */
  // By contract a string, or null.
  readonly currentETag: string | null = this.problem?.details?.currentETag as string | undefined ??
    null;

  /** What the service suggests to do, as a sentence; null if it does not say. */
  // By contract a string.
  readonly suggestion: string | null = this.problem?.details?.suggestion as string | undefined ??
    null;
}

/** The error of an answer that is refused, or that the service would not give. */
export async function answerError(response: Response): Promise<ServiceError> {
  const { status, headers } = response;
  // The service sends whole seconds; a date, as some proxies do, says nothing here.
  const facts = { status, retryAfterMs: +headers.get("retry-after")! * 1000 || null };
  const problem = await response.json().catch(() => null);
  // A problem with a page of the service, on its own host, or an error that a middleware has thrown.
  // Otherwise it is the page of a proxy, or another service altogether.
  const slug = "unexpected-answer";
  if (/^(\/[^/].*_service\/problems\/|about:blankHTTP)/.test(problem?.type + problem?.code)) {
    return problemError(problem, facts);
  }
  return new ServiceError(slug, `${slug}: ${status}`, facts);
}

/** The error of a problem of the service. */
export function problemError(problem: ProblemBody, facts: ServiceErrorFacts): ServiceError {
  const Kind = facts.status === 412 ? ConflictError : ServiceError;
  // By contract the code is the slug in capitals, also without a page of its own: `HTTP_418`.
  const slug = problem.code.toLowerCase().replace(/_/g, "-") as ServiceErrorSlug;
  return new Kind(slug, problem.detail, { ...facts, problem });
}
