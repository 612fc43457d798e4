/**
 * The interface of CAPTCHA verifiers, which decide whether a token proves a solved CAPTCHA: {@link
 * turnstile}, {@link hcaptcha}, {@link recaptcha}, or a custom verifier.
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
  /** Name of the CAPTCHA for the client, in `Service-Captcha-Provider`. */
  readonly provider: string;
  /** The public key that shows the CAPTCHA, which `Service-Captcha-Sitekey` contains. */
  readonly siteKey: string;
  /**
   * Verifies a token. The service calls this function once for each token. Only `true` and `{ kind:
   * "passed" }` admit the request. An error refuses it.
   */
  verify(
    question: CaptchaQuestion,
  ): CaptchaAnswer | boolean | Promise<CaptchaAnswer | boolean>;
  /** False if the verifier cannot check actions. A resource must then not require an action. */
  readonly hasActions?: boolean | undefined;
  /** True for keys that accept every token. In production, the start then fails. */
  readonly usesTestKeys?: boolean | undefined;
}

/** The question to a CAPTCHA verifier: one token, and its required action. */
export interface CaptchaQuestion {
  /** The token from the client: printable ASCII without spaces, at most 8,192 characters. */
  readonly token: string;
  /** The required action of the CAPTCHA; undefined for any. */
  readonly action: string | undefined;
  /** The client's address, or undefined if it is unknown. */
  readonly remoteIp: string | undefined;
  /** A UUID of this question, identical if the question is sent to the provider again. */
  readonly id: string;
  /** Aborted after 5 seconds, when the request no longer waits for the result. */
  readonly signal: AbortSignal;
}

/** The verdict of a CAPTCHA verifier on a token. `reason` is for the observer, never the client. */
export type CaptchaAnswer =
  | { readonly kind: "passed" }
  /** The client is at fault and is challenged again. */
  | { readonly kind: "refused"; readonly reason: string }
  /**
   * The provider returned no verdict. The response is 503, and the client may send the token again.
   */
  | { readonly kind: "unavailable"; readonly reason: string; readonly cause?: unknown };
