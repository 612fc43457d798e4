import type { CaptchaVerifier } from "./captcha_verifier.ts";
import { createSiteVerifier, type SiteVerifyOptions } from "./siteverify_protocol.ts";

/**
 * Creates a verifier for hCaptcha, whose tokens have no actions.
 *
 * @throws {Error} If a key is invalid.
 * @example
 * ```ts
 * import { hcaptcha } from "@svc/resource-api/captcha";
 *
 * const verifier = hcaptcha({
 *   siteKey: "10000000-ffff-ffff-ffff-000000000001",
 *   secret: "0x0000000000000000000000000000000000000000",
 * });
 * console.log(verifier.usesTestKeys); // true
 * ```
 */
export function hcaptcha(options: SiteVerifyOptions): CaptchaVerifier {
  return createSiteVerifier({
    provider: "hcaptcha",
    endpoint: "https://api.hcaptcha.com/siteverify",
    // Without the site key, tokens of other sites of the same account would be accepted.
    extraFields: () => ({ sitekey: options.siteKey }),
    maxTokenLength: 8_192,
    tries: 1,
    hasActions: false,
    testKeys: /^(0x0{40}|[123]0000000-ffff-ffff-ffff-00000000000[123])$/,
    minScore: null,
  }, options);
}
