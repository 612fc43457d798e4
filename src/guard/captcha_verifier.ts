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
    attempt: CaptchaAttempt,
  ): CaptchaVerdict | boolean | Promise<CaptchaVerdict | boolean>;
  /** False where an action cannot be checked: then a resource that names one is a mistake. */
  readonly hasActions?: boolean | undefined;
  /** True for keys that let everybody through: in production the start fails. */
  readonly usesTestKeys?: boolean | undefined;
}

/** A token to look at. */
export interface CaptchaAttempt {
  /** As the client sent it: printable ASCII without spaces, at most 8,192 characters. */
  readonly token: string;
  /** What the CAPTCHA must have been solved for; null where anything will do. */
  readonly action: string | null;
  /** The caller's address, where it is known. */
  readonly remoteIp: string | null;
  /** A UUID of this attempt, for a vendor that is asked twice. */
  readonly id: string;
  /** Ends the attempt: after 5 seconds nobody waits for the verdict any more. */
  readonly signal: AbortSignal;
}

/** What became of a token. `reason` is for the observer, never for the caller. */
export type CaptchaVerdict =
  | { readonly kind: "passed" }
  /** The caller's fault: it is challenged again. */
  | { readonly kind: "refused"; readonly reason: string }
  /** Nobody's verdict: a 503, and the token may be sent again. */
  | { readonly kind: "unavailable"; readonly reason: string; readonly cause?: unknown };
