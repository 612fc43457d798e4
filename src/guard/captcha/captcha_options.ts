import { type Described, group } from "../../options/option.ts";
import { flag, other, textLike } from "../../options/option_kinds.ts";
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

/** A string that a header can hold: a key of a provider, the name of an action. */
export const headerText = textLike("a text without spaces", /^[\x21-\x7e]{1,256}$/);

/** The options of CAPTCHAs, described. */
export const captchaOptions = group(
  {
    verifier: other<CaptchaVerifier>(
      "a verifier: an object with a provider, a siteKey and a function verify",
      isVerifier,
    ).required(),
    tokenHeader: textLike("the name of a header", /^[\w!#$%&'*+.^`|~-]+$/)
      .unlessSet(captchaHeaders.token),
    allowTestKeys: flag().unlessSet(false),
  } satisfies Described<CaptchaOptions>,
);

/** The options of CAPTCHAs with their defaults. */
export interface ResolvedCaptchaOptions {
  readonly verifier: CaptchaVerifier;
  readonly tokenHeader: string;
}

/**
 * Checks the options of CAPTCHAs once, at start. Throws a plain Error that names the option at
 * fault.
 */
export function resolveCaptchaOptions(
  options: CaptchaOptions,
  isProduction: boolean,
): ResolvedCaptchaOptions {
  const { verifier, tokenHeader, allowTestKeys } = captchaOptions.required().read(options, {
    subject: "Cannot start",
    path: "abuseProtection.captcha",
  });
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
  { provider, hasActions = true }: CaptchaVerifier,
  subject: string,
): void {
  if (!hasActions) throw new Error(`${subject} names an action, and ${provider} knows none`);
}

/** Two of the members are sent in headers. */
function isVerifier(verifier: unknown): boolean {
  return typeof verifier === "object" && verifier !== null && "verify" in verifier &&
    typeof verifier.verify === "function" &&
    ["provider", "siteKey"].every((name) => headerText.rules.fits(Reflect.get(verifier, name)));
}
