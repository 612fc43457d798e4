import type { CaptchaVerifier } from "./captcha_verifier.ts";
import { createSiteVerifier, type SiteVerifyOptions } from "./siteverify_protocol.ts";

/**
 * Creates a verifier for Cloudflare Turnstile.
 *
 * @throws {Error} If a key is invalid.
 * @example
 * ```ts
 * import { turnstile } from "@svc/resource-api/captcha";
 *
 * const verifier = turnstile({
 *   siteKey: "1x00000000000000000000AA",
 *   secret: "1x0000000000000000000000000000000AA",
 * });
 * console.log(verifier.usesTestKeys); // true
 * ```
 */
export function turnstile(options: SiteVerifyOptions): CaptchaVerifier {
  return createSiteVerifier({
    provider: "turnstile",
    endpoint: "https://challenges.cloudflare.com/turnstile/v0/siteverify",
    // Turnstile accepts a used token again for the same verification id.
    extraFields: ({ id }) => ({ idempotency_key: id }),
    maxTokenLength: 2_048,
    tries: 2,
    hasActions: true,
    testKeys: /^[123]x0{20,}[A-F]{2}$/,
    minScore: null,
  }, options);
}
