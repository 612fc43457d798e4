/**
 * The codes of all problems, with their status and title. Problems are the errors that this service
 * returns on purpose. The slug is the last segment of the problem's `type`, the path of a page
 * (`/__service/problems/<slug>`). The problem's `code` is the slug in capitals.
 */
export const problemCodes = {
  "not-found": { status: 404, title: "Not found" },
  "method-not-allowed": { status: 405, title: "Method not allowed" },
  "invalid-body": { status: 400, title: "The body is not a usable JSON object" },
  "invalid-parameter": { status: 400, title: "A query parameter is not valid" },
  "filter-parse-error": { status: 400, title: "The filter is not valid" },
  "cursor-invalid": { status: 400, title: "The cursor is not valid" },
  "batch-limit-exceeded": { status: 400, title: "The batch holds too many items" },
  "webhook-signature-invalid": { status: 400, title: "The webhook's signature is not valid" },
  "unauthorized": { status: 401, title: "Authentication is required" },
  "insufficient-credits": { status: 402, title: "There are not enough credits" },
  "forbidden": { status: 403, title: "This is not allowed" },
  "request-timeout": { status: 408, title: "The request did not arrive in time" },
  "conflict": { status: 409, title: "The write conflicts with what is stored" },
  "idempotency-in-flight": { status: 409, title: "A request with this key is still running" },
  "idempotency-answer-not-kept": { status: 409, title: "The answer to this key was not kept" },
  "precondition-failed": { status: 412, title: "The precondition does not hold" },
  "payload-too-large": { status: 413, title: "The body is too large" },
  "unsupported-media-type": { status: 415, title: "The content type is not supported" },
  "validation-error": { status: 422, title: "The body holds invalid values" },
  "refused-by-database": { status: 422, title: "A rule of the database refused this" },
  "idempotency-key-reused": { status: 422, title: "This key was used with another body" },
  "query-too-expensive": { status: 422, title: "The query is too expensive" },
  "precondition-required": { status: 428, title: "A precondition is required" },
  "proof-of-work-required": { status: 428, title: "Proof of work is required" },
  "captcha-required": { status: 428, title: "A CAPTCHA is required" },
  "rate-limit-exceeded": { status: 429, title: "Too many requests" },
  "budget-exhausted": { status: 429, title: "The budget is exhausted" },
  "internal-error": { status: 500, title: "Internal error" },
  "billing-unsupported": { status: 501, title: "The billing provider does not support this" },
  "billing-failed": { status: 502, title: "The billing provider failed" },
  "overloaded": { status: 503, title: "The service is overloaded" },
  "identity-unavailable": { status: 503, title: "The identity provider is not available" },
  "database-unavailable": { status: 503, title: "The database is not available" },
  "schema-changed": { status: 503, title: "The database has changed" },
  "store-unavailable": { status: 503, title: "The key-value store is not available" },
  "search-unavailable": { status: 503, title: "The search index is not available" },
  "captcha-unavailable": { status: 503, title: "The CAPTCHA provider is not available" },
} as const satisfies Record<string, { readonly status: number; readonly title: string }>;

/** The slug of a problem code: the last segment of the problem's `type`, such as `not-found`. */
export type ProblemSlug = keyof typeof problemCodes;

export const problemTypeBase = "/__service/problems/";

/** The body of an `application/problem+json` response (RFC 9457, formerly RFC 7807). */
export interface ProblemBody {
  /** The path of the page that explains this type of problem. */
  readonly type: string;
  /** A summary of this type of problem. All occurrences of the type have the same title. */
  readonly title: string;
  /** The status of the response. */
  readonly status: number;
  /** The description of this occurrence of the problem. */
  readonly detail: string;
  /** The problem code in capitals, for programs: `NOT_FOUND`. */
  readonly code: string;
  /** Machine-readable details. Their names depend on the problem code. */
  readonly details?: Readonly<Record<string, unknown>>;
}

export function problemCode(slug: ProblemSlug): string {
  return slug.replaceAll("-", "_").toUpperCase();
}
