/**
 * Decides if a token proves a solved CAPTCHA. Use {@link turnstile}, {@link hcaptcha} or
 * {@link recaptcha}, or write your own verifier.
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
  /** Name of the CAPTCHA provider, which the client reads in `Service-Captcha-Provider`. */
  readonly provider: string;
  /** Public key to show the CAPTCHA with. The client reads it in `Service-Captcha-Sitekey`. */
  readonly siteKey: string;
  /** Verifies a token, once. Only the results `true` and `{ kind: "passed" }` accept the token. */
  verify(question: CaptchaQuestion): CaptchaAnswer | boolean | Promise<CaptchaAnswer | boolean>;
  /** False if the verifier cannot check actions: an option with an action is then an error. */
  readonly hasActions?: boolean | undefined;
  /** True if the keys accept every token: the app then does not start in production. */
  readonly usesTestKeys?: boolean | undefined;
}

/** The token to verify, and the action that it must have. */
export interface CaptchaQuestion {
  /** The client's token: printable ASCII without spaces, at most 8,192 characters. */
  readonly token: string;
  /** The action that the token must have, or undefined for any. */
  readonly action: string | undefined;
  /** The client's address, or undefined if it is unknown. */
  readonly remoteIp: string | undefined;
  /** A UUID of this call. A verifier that asks its provider again can send the UUID again. */
  readonly id: string;
  /** Aborts after 5 seconds, because the request does not wait longer. */
  readonly signal: AbortSignal;
}

/** The verdict of a verifier. Only the operator sees `reason`. */
export type CaptchaAnswer =
  | { readonly kind: "passed" }
  /** The token is invalid. The client gets a new challenge. */
  | { readonly kind: "refused"; readonly reason: string }
  /** The provider returned no verdict. The client gets a 503 and can send the token again. */
  | { readonly kind: "unavailable"; readonly reason: string; readonly cause?: unknown };
