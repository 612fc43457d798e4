import { type Described, group } from "../../options/option.ts";
import { flag, testedValue, textLike } from "../../options/option_kinds.ts";
import { captchaHeaders } from "../../protocol/captcha_headers.ts";
import type { CaptchaVerifier } from "./captcha_verifier.ts";

/** The options of CAPTCHAs for the whole service. */
export interface CaptchaOptions {
  /** The verifier of tokens: {@link turnstile}, {@link hcaptcha}, {@link recaptcha} or your own. */
  readonly verifier: CaptchaVerifier;
  /** Name of the request header with the token. Default: `Service-Captcha-Token`. */
  readonly tokenHeader?: string | undefined;
  /** True if production may use a provider's published test keys. Default: false. */
  readonly allowTestKeys?: boolean | undefined;
}

/** Defines a string that a header can contain, such as a key or the name of an action. */
export const headerTextOptionRule = textLike("a string without spaces", /^[\x21-\x7e]{1,256}$/);

export const captchaOptionRules = group(
  {
    verifier: testedValue<CaptchaVerifier>(
      "a verifier: an object with a provider, a siteKey and a function verify",
      isVerifier,
    ).required(),
    tokenHeader: textLike("the name of a header", /^[\w!#$%&'*+.^`|~-]+$/)
      .default(captchaHeaders.token),
    allowTestKeys: flag().default(false),
  } satisfies Described<CaptchaOptions>,
);

export type ResolvedCaptchaOptions = ReturnType<typeof resolveCaptchaOptions>;

/** Validates the CAPTCHA options and adds defaults. Throws a plain Error that names the option. */
export function resolveCaptchaOptions(options: CaptchaOptions, isProduction: boolean) {
  const { verifier, tokenHeader, allowTestKeys } = captchaOptionRules.required().read(
    options,
    { subject: "Cannot start", path: "abuseProtection.captcha" },
  );
  if (isProduction && verifier.usesTestKeys === true && !allowTestKeys) {
    throw new Error(
      `Cannot start in production with the test keys of ${verifier.provider}: every client passes them`,
    );
  }
  return { verifier, tokenHeader };
}

/** Throws if an option needs a CAPTCHA without a verifier, or an action that it cannot check. */
export function requireCaptchaVerifier(
  { action }: { readonly action?: string | undefined },
  configured: ResolvedCaptchaOptions | null,
  option: string,
): void {
  if (configured === null) {
    throw new Error(`${option} needs a verifier: set abuseProtection.captcha`);
  }
  const { provider, hasActions = true } = configured.verifier;
  if (action === undefined || hasActions) return;
  throw new Error(`${option}.action names an action, and ${provider} knows none`);
}

/** Returns true for a verifier whose provider and site key can be sent in headers. */
function isVerifier(verifier: unknown): boolean {
  return typeof verifier === "object" && verifier !== null && "verify" in verifier &&
    typeof verifier.verify === "function" &&
    ["provider", "siteKey"].every((name) =>
      headerTextOptionRule.rules.fits(Reflect.get(verifier, name))
    );
}
