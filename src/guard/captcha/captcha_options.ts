import { type Described, group } from "../../options/option.ts";
import { flag, other, textLike } from "../../options/option_kinds.ts";
import { captchaHeaders } from "../../protocol/captcha_headers.ts";
import type { CaptchaVerifier } from "./captcha_verifier.ts";

/** The options of CAPTCHAs for the whole service. */
export interface CaptchaOptions {
  /** Verifier of tokens: {@link turnstile}, {@link hcaptcha}, {@link recaptcha} or a custom one. */
  readonly verifier: CaptchaVerifier;
  /** Request header of the token. Default: `Service-Captcha-Token`. */
  readonly tokenHeader?: string | undefined;
  /** Allows the published test keys of a provider in production. Default: false. */
  readonly allowTestKeys?: boolean | undefined;
}

/** A string that a header can contain, such as a key of a provider or the name of an action. */
export const headerText = textLike("a text without spaces", /^[\x21-\x7e]{1,256}$/);

/** The descriptions of the options of CAPTCHAs. */
export const captchaOptions = group(
  {
    verifier: other<CaptchaVerifier>(
      "a verifier: an object with a provider, a siteKey and a function verify",
      isVerifier,
    ).required(),
    tokenHeader: textLike("the name of a header", /^[\w!#$%&'*+.^`|~-]+$/)
      .default(captchaHeaders.token),
    allowTestKeys: flag().default(false),
  } satisfies Described<CaptchaOptions>,
);

/** The options of CAPTCHAs with their defaults. */
export interface ResolvedCaptchaOptions {
  readonly verifier: CaptchaVerifier;
  readonly tokenHeader: string;
}

/** Validates the options of CAPTCHAs at start. Throws a plain Error that names the option. */
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
 * Validates an option that names a CAPTCHA action: throws if the verifier cannot check it.
 * `subject` starts the message.
 */
export function requireCaptchaAction(
  { provider, hasActions = true }: CaptchaVerifier,
  subject: string,
): void {
  if (!hasActions) throw new Error(`${subject} names an action, and ${provider} knows none`);
}

/** Returns true for a verifier. Two of its members are sent in headers. */
function isVerifier(verifier: unknown): boolean {
  return typeof verifier === "object" && verifier !== null && "verify" in verifier &&
    typeof verifier.verify === "function" &&
    ["provider", "siteKey"].every((name) => headerText.rules.fits(Reflect.get(verifier, name)));
}
