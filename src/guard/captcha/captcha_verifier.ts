/**
 * Who says whether a token stands for a solved CAPTCHA: {@link turnstile}, {@link hcaptcha},
 * {@link recaptcha}, or one of your own.
 *
 * @example
 * ```ts
 * import type { CaptchaVerifier } from "@svc/resource-api";
 *
 * const riddle: CaptchaVerifier = {
 *   provider: "riddle",
 *   siteKey: "the-sphinx",
 *   verify: ({ token }) => token === "a human being",
 * };
 * ```
 */
export interface CaptchaVerifier {
  /** Tells the client which CAPTCHA it is, in `Service-Captcha-Provider`. */
  readonly provider: string;
  /** What the client needs to show it, in `Service-Captcha-Sitekey`. Public. */
  readonly siteKey: string;
  /**
   * Looks at a token. Asked once for each. Only `true` and `{ kind: "passed" }` let the request
   * through; what it throws refuses it.
   */
  verify(
    question: CaptchaQuestion,
  ): CaptchaAnswer | boolean | Promise<CaptchaAnswer | boolean>;
  /** False where an action cannot be checked: then a resource that names one is a mistake. */
  readonly hasActions?: boolean | undefined;
  /** True for keys that let everybody through: in production the start fails. */
  readonly usesTestKeys?: boolean | undefined;
}

/** One token, and what it must be good for. */
export interface CaptchaQuestion {
  /** As the client sent it: printable ASCII without spaces, at most 8,192 characters. */
  readonly token: string;
  /** What the CAPTCHA must have been solved for; undefined where anything will do. */
  readonly action: string | undefined;
  /** The client's address; undefined where nobody tells it. */
  readonly remoteIp: string | undefined;
  /** A UUID of this question, for a vendor that is asked twice. */
  readonly id: string;
  /** Ends it: after 5 seconds nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** What the verifier says of a token. `reason` is for the observer, never for the caller. */
export type CaptchaAnswer =
  | { readonly kind: "passed" }
  /** The caller's fault: it is challenged again. */
  | { readonly kind: "refused"; readonly reason: string }
  /** It could not be asked: a 503, and the token may be sent again. */
  | { readonly kind: "unavailable"; readonly reason: string; readonly cause?: unknown };
