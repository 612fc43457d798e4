import { type Described, group } from "../../options/option.ts";
import { number } from "../../options/option_kinds.ts";
import type { CaptchaVerifier } from "./captcha_verifier.ts";
import {
  createSiteVerifier,
  siteVerifyOptionRules,
  type SiteVerifyOptions,
} from "./siteverify_protocol.ts";

/** Options of {@link recaptcha}. */
export interface RecaptchaOptions extends SiteVerifyOptions {
  /** Minimum score of reCAPTCHA v3, 0 to 1. Tokens of a v2 key have no score and never pass. */
  readonly minScore?: number | undefined;
}

export const recaptchaOptionRules = {
  ...siteVerifyOptionRules,
  minScore: number({ from: 0, to: 1 }),
} satisfies Described<RecaptchaOptions>;

/**
 * Creates a verifier for Google reCAPTCHA, v2 and v3. Only v3 has actions and scores.
 *
 * @throws {Error} If a key or the score is invalid.
 * @example
 * ```ts
 * import { recaptcha } from "@svc/resource-api/captcha";
 *
 * const verifier = recaptcha({
 *   siteKey: "6LeIxAcTAAAAAJcZVRqyHh71UMIEGNQ_MXjiZKhI",
 *   secret: "6LeIxAcTAAAAAGG-vFI1TnRWxMZNFuojJ4WifJWe",
 *   endpoint: "https://www.recaptcha.net/recaptcha/api/siteverify",
 * });
 * console.log(verifier.usesTestKeys); // true
 * ```
 */
export function recaptcha(options: RecaptchaOptions): CaptchaVerifier {
  const { minScore, ...siteOptions } = group(recaptchaOptionRules).required().read(options, {
    subject: "Cannot start",
    path: "recaptcha",
  });
  return createSiteVerifier({
    provider: "recaptcha",
    endpoint: "https://www.google.com/recaptcha/api/siteverify",
    extraFields: () => ({}),
    maxTokenLength: 8_192,
    tries: 1,
    hasActions: true,
    testKeys:
      /^(6LeIxAcTAAAAAJcZVRqyHh71UMIEGNQ_MXjiZKhI|6LeIxAcTAAAAAGG-vFI1TnRWxMZNFuojJ4WifJWe)$/,
    minScore: minScore ?? null,
  }, siteOptions);
}
