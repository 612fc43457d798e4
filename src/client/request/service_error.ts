import { captchaHeaders } from "../../protocol/captcha_headers.ts";
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
  /** The action that the CAPTCHA is solved for; null where any passes. */
  readonly action: string | null;
}

/** The facts of a {@link ServiceError} beside its slug and its message. */
export interface ServiceErrorFacts {
  readonly status?: number;
  readonly problem?: ProblemBody | null;
  readonly retryAfterMs?: number | null;
  readonly captcha?: RequiredCaptcha | null;
  readonly cause?: unknown;
}

/** A request that was refused, or had no usable answer. */
export class ServiceError extends Error {
  /** What went wrong. */
  readonly slug: ServiceErrorSlug;
  /** The status of the answer; 0 where there was none. */
  readonly status: number;
  /** The body of the problem; null where the answer had none. */
  readonly problem: ProblemBody | null;
  /** How long the service asks to wait; null where it does not say. */
  readonly retryAfterMs: number | null;
  /** The CAPTCHA that has to be solved; null for every other error. */
  readonly captcha: RequiredCaptcha | null;

  /** Makes an error; without a status there was no answer. */
  constructor(slug: ServiceErrorSlug, message: string, facts: ServiceErrorFacts = {}) {
    super(message, { cause: facts.cause });
    this.name = "ServiceError";
    this.slug = slug;
    this.status = facts.status ?? 0;
    this.problem = facts.problem ?? null;
    this.retryAfterMs = facts.retryAfterMs ?? null;
    this.captcha = facts.captcha ?? null;
  }
}

/** A write that was refused because the row has changed: 412. */
export class ConflictError extends ServiceError {
  /** The current tag of the row; null where the service did not say it. */
  readonly currentETag: string | null;
  /** What the service suggests to do, as a sentence; null where it does not say. */
  readonly suggestion: string | null;

  /** Makes the conflict of an answer. */
  constructor(message: string, facts: ServiceErrorFacts) {
    super("precondition-failed", message, facts);
    this.name = "ConflictError";
    const { currentETag, suggestion } = facts.problem?.details ?? {};
    this.currentETag = typeof currentETag === "string" ? currentETag : null;
    this.suggestion = typeof suggestion === "string" ? suggestion : null;
  }
}

/** The error of an answer without success, as the client throws it. */
export async function answerError(response: Response, now: number): Promise<ServiceError> {
  const { status, headers } = response;
  const problem = problemOf(await response.text());
  const facts = {
    status,
    problem,
    retryAfterMs: retryAfter(headers.get("retry-after"), now),
    captcha: captchaOf(headers),
  };
  if (problem === null) return unexpectedAnswer(response, facts);
  if (status === 412) return new ConflictError(problem.detail, facts);
  // By contract the code is the slug in capitals, also where the problem has no page of its own: `HTTP_418`.
  const slug = problem.code.toLowerCase().replaceAll("_", "-") as ServiceErrorSlug;
  return new ServiceError(slug, problem.detail, facts);
}

/** The error of an answer that the service would not give. */
export function unexpectedAnswer(
  { status, headers }: Response,
  facts: ServiceErrorFacts = {},
): ServiceError {
  const message = `Unexpected answer: ${status} ${headers.get("content-type")}`;
  return new ServiceError("unexpected-answer", message, { status, ...facts });
}

/** Null for what is no problem: a proxy answers with pages of its own. */
function problemOf(text: string): ProblemBody | null {
  try {
    const body = JSON.parse(text);
    return typeof body?.code === "string" && typeof body.detail === "string" ? body : null;
  } catch {
    // No JSON, so no problem either; the caller says what came instead.
    return null;
  }
}

/** Milliseconds of `Retry-After`, which is seconds or a date. */
function retryAfter(value: string | null, now: number): number | null {
  if (value === null) return null;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}

function captchaOf(headers: Headers): RequiredCaptcha | null {
  const provider = headers.get(captchaHeaders.provider);
  if (provider === null) return null;
  return {
    provider,
    siteKey: headers.get(captchaHeaders.siteKey) ?? "",
    action: headers.get(captchaHeaders.action),
  };
}
