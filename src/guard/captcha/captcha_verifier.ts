/**
 * The interface of CAPTCHA verifiers, which decide whether a token proves a solved CAPTCHA:
 * {@link turnstile}, {@link hcaptcha}, {@link recaptcha}, or one of your own.
 *
 * @example
 * ```ts
 * import type { CaptchaVerifier } from "@svc/resource-api/captcha";
 *
 * const riddle: CaptchaVerifier = {
 *   provider: "riddle",
 *   siteKey: "the-sphinx",
 *   verify: ({ token }) => token === "a human being",
 * };
 * ```
 */
export interface CaptchaVerifier {
  /** Names the CAPTCHA to the client, in `Service-Captcha-Provider`. */
  readonly provider: string;
  /** The public key that the client shows it with, in `Service-Captcha-Sitekey`. */
  readonly siteKey: string;
  /**
   * Checks a token; called once for each. Only `true` and `{ kind: "passed" }` let the request
   * through; an error refuses it.
   */
  verify(
    question: CaptchaQuestion,
  ): CaptchaAnswer | boolean | Promise<CaptchaAnswer | boolean>;
  /** False where an action cannot be checked: then a resource that names one is a mistake. */
  readonly hasActions?: boolean | undefined;
  /** True for keys that accept every token: in production the start fails. */
  readonly usesTestKeys?: boolean | undefined;
}

/** The question to a CAPTCHA verifier: one token, and what it must have been solved for. */
export interface CaptchaQuestion {
  /** As the client sent it: printable ASCII without spaces, at most 8,192 characters. */
  readonly token: string;
  /** The action that the CAPTCHA must have been solved for; undefined for any. */
  readonly action: string | undefined;
  /** The client's address; undefined if it is unknown. */
  readonly remoteIp: string | undefined;
  /** A UUID of this question, the same when it is sent to the provider a second time. */
  readonly id: string;
  /** Aborted after 5 seconds, when the request no longer waits for the result. */
  readonly signal: AbortSignal;
}

/**
 * The result of a CAPTCHA verifier: its verdict on a token. `reason` is for the observer, never for
 * the client.
 */
export type CaptchaAnswer =
  | { readonly kind: "passed" }
  /** The client's fault: it is challenged again. */
  | { readonly kind: "refused"; readonly reason: string }
  /** The provider gave no verdict: a 503, and the token may be sent again. */
  | { readonly kind: "unavailable"; readonly reason: string; readonly cause?: unknown };
