/**
 * The verifiers of CAPTCHA vendors, and the interface for custom verifiers.
 *
 * @module
 */
export type { CaptchaOptions } from "../src/guard/captcha/captcha_challenges.ts";
export type {
  CaptchaAnswer,
  CaptchaQuestion,
  CaptchaVerifier,
} from "../src/guard/captcha/captcha_verifier.ts";
export { hcaptcha } from "../src/guard/captcha/siteverify_protocol.ts";
export { recaptcha, type RecaptchaOptions } from "../src/guard/captcha/siteverify_protocol.ts";
export type { SiteVerifyOptions } from "../src/guard/captcha/siteverify_protocol.ts";
export { turnstile } from "../src/guard/captcha/siteverify_protocol.ts";
