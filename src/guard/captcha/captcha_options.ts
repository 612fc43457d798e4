import { requireKnownOptions } from "../../problem/require_known_options.ts";
import { captchaHeaders } from "../../protocol/captcha_headers.ts";
import type { CaptchaVerifier } from "./captcha_verifier.ts";

/** The options of CAPTCHAs for the whole service. */
export interface CaptchaOptions {
  /** Checks the tokens: {@link turnstile}, {@link hcaptcha}, {@link recaptcha} or your own. */
  readonly verifier: CaptchaVerifier;
  /** The request header that holds the token; `Service-Captcha-Token` unless set. */
  readonly tokenHeader?: string | undefined;
  /** Lets production start with the keys that a provider publishes for tests; false unless set. */
  readonly allowTestKeys?: boolean | undefined;
}

/** The options of CAPTCHAs with their defaults. */
export interface ResolvedCaptchaOptions {
  readonly verifier: CaptchaVerifier;
  readonly tokenHeader: string;
}

const option = "abuseProtection.captcha";

/**
 * Checks the options of CAPTCHAs once, at start. Throws a plain Error that names the option at
 * fault.
 */
export function resolveCaptchaOptions(
  options: CaptchaOptions,
  isProduction: boolean,
): ResolvedCaptchaOptions {
  requireKnownOptions(options, knownOptions, `Cannot start: ${option}`);
  const { verifier, tokenHeader = captchaHeaders.token, allowTestKeys = false } = options;
  requireVerifier(verifier);
  if (typeof tokenHeader !== "string" || !/^[\w!#$%&'*+.^`|~-]+$/.test(tokenHeader)) {
    throw new Error(`Cannot use ${option}.tokenHeader: it must be the name of a header`);
  }
  if (isProduction && verifier.usesTestKeys === true && !allowTestKeys) {
    throw new Error(
      `Cannot start in production with the test keys of ${verifier.provider}: every client passes them`,
    );
  }
  return { verifier, tokenHeader };
}

/**
 * Checks an option that names a CAPTCHA action: refuses one that the verifier cannot check.
 * `subject` begins the message.
 */
export function requireCaptchaAction(
  action: string,
  { provider, hasActions = true }: CaptchaVerifier,
  subject: string,
): void {
  if (!hasActions) throw new Error(`${subject} names an action, and ${provider} knows none`);
  if (!isHeaderText(action)) {
    throw new Error(`${subject} must be a text that a header can hold`);
  }
}

const knownOptions: Readonly<Record<keyof CaptchaOptions, true>> = {
  verifier: true,
  tokenHeader: true,
  allowTestKeys: true,
};

/** For callers in JavaScript, and because two of the members are sent in headers. */
function requireVerifier(verifier: unknown): void {
  const members: Readonly<Record<string, unknown>> =
    typeof verifier === "object" && verifier !== null ? { ...verifier } : {};
  const isOne = isHeaderText(members["provider"]) && isHeaderText(members["siteKey"]) &&
    typeof verifier === "object" && verifier !== null && "verify" in verifier &&
    typeof verifier.verify === "function";
  if (isOne) return;
  throw new Error(
    `Cannot use ${option}.verifier: it must have a provider, a siteKey and a function verify`,
  );
}

function isHeaderText(value: unknown): boolean {
  return typeof value === "string" && /^[\x21-\x7e]{1,256}$/.test(value);
}
