import { type Described, group, listOf } from "../../options/option.ts";
import { callback, number, testedValue, textLike } from "../../options/option_kinds.ts";
import { parseJsonObject } from "../../protocol/json_object.ts";
import { readBytes } from "../../runtime/read_bytes.ts";
import { headerTextOptionRule } from "./captcha_challenges.ts";
import type { CaptchaAnswer, CaptchaQuestion, CaptchaVerifier } from "./captcha_verifier.ts";

/** The options for the protocol "siteverify" of Turnstile, hCaptcha and reCAPTCHA. */
export interface SiteVerifyOptions {
  /** The public key of your site at the vendor. */
  readonly siteKey: string;
  /** The secret that belongs to the site key. */
  readonly secret: string;
  /** Hosts on which the CAPTCHA may be solved, compared exactly. Default: any host. */
  readonly hostnames?: readonly string[] | undefined;
  /** Another URL for verification, for instance for tests. */
  readonly endpoint?: string | undefined;
  /** Function that sends the verification. Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

const key = testedValue<string>(
  "a key as the vendor gave it, without spaces",
  (given) => headerTextOptionRule.rules.fits(given),
);

export const siteVerifyOptionRules = {
  siteKey: key.required(),
  secret: key.required(),
  hostnames: listOf('hosts, like "example.com"', textLike("a host", /^[^\s/:]+$/)),
  endpoint: testedValue<string>(
    "a URL",
    (given) => typeof given === "string" && /^https?:$/.test(URL.parse(given)?.protocol ?? ""),
  ),
  fetch: callback<typeof fetch>(),
} satisfies Described<SiteVerifyOptions>;

interface CaptchaVendor {
  readonly provider: string;
  readonly endpoint: string;
  readonly extraFields: (question: CaptchaQuestion) => Readonly<Record<string, string>>;
  readonly maxTokenLength: number;
  /** Number of attempts: two only if the vendor recognizes a repeated verification. */
  readonly tries: 1 | 2;
  readonly hasActions: boolean;
  readonly testKeys: RegExp;
  readonly minScore: number | null;
}

function createSiteVerifier(
  vendor: CaptchaVendor,
  options: SiteVerifyOptions,
): CaptchaVerifier {
  const { provider, hasActions, testKeys, tries, maxTokenLength } = vendor;
  const place = { subject: "Cannot start", path: provider };
  const read = group(siteVerifyOptionRules).required().read(options, place);
  const { siteKey, secret, endpoint = vendor.endpoint, hostnames = null } = read;
  const rules = { hostnames, minScore: vendor.minScore };

  async function send(question: CaptchaQuestion): Promise<CaptchaAnswer> {
    const { token, remoteIp, signal } = question;
    const body = new URLSearchParams({ secret, response: token });
    if (remoteIp !== undefined) body.set("remoteip", remoteIp);
    for (const [name, value] of Object.entries(vendor.extraFields(question))) body.set(name, value);
    const post = read.fetch ?? fetch;
    try {
      const reply = await post(endpoint, { method: "POST", body, redirect: "error", signal });
      const text = await readBytes(reply.body, { limit: maxAnswerLength });
      if (!reply.ok) return { kind: "unavailable", reason: `status ${reply.status}` };
      if (typeof text === "string") return { kind: "unavailable", reason: "an answer too long" };
      const object = parseJsonObject(text);
      const fields = object === null ? null : new Map(Object.entries(object));
      return verdictOf(fields, { ...rules, action: question.action });
    } catch (cause) {
      // `fetch` throws errors of these two types after network failures, redirects and aborts.
      const isKnown = cause instanceof TypeError || cause instanceof DOMException;
      if (!isKnown) throw cause;
      return { kind: "unavailable", reason: "no answer", cause };
    }
  }

  return {
    provider,
    siteKey,
    hasActions,
    usesTestKeys: testKeys.test(siteKey) || testKeys.test(secret),
    async verify(question) {
      if (question.token.length > maxTokenLength) return { kind: "refused", reason: "too-long" };
      const answer = await send(question);
      const isToRetry = answer.kind === "unavailable" && tries > 1 && !question.signal.aborted;
      return isToRetry ? await send(question) : answer;
    },
  };
}

const maxAnswerLength = 64 * 1024;

type Fields = ReadonlyMap<string, unknown>;

interface Rules {
  readonly action: string | undefined;
  readonly hostnames: readonly string[] | null;
  readonly minScore: number | null;
}

function verdictOf(fields: Fields | null, { action, hostnames, minScore }: Rules): CaptchaAnswer {
  if (fields === null) return { kind: "unavailable", reason: "an answer that is no JSON object" };
  if (fields.get("success") !== true) return verdictOfCodes(fields.get("error-codes"));
  if (action !== undefined && fields.get("action") !== action) return refused("other-action");
  const hostname = fields.get("hostname");
  const isKnownHost = hostnames === null || hostnames.some((one) => one === hostname);
  if (!isKnownHost) return refused("other-hostname");
  const score = fields.get("score");
  // If a score is required, a token without a score is refused, too.
  const isScored = minScore === null || typeof score === "number" && score >= minScore;
  return isScored ? { kind: "passed" } : refused("low-score");
}

/** Error codes for faults of the deployer or the vendor: another token would not help. */
const serverFaults: readonly string[] = [
  "internal-error",
  "missing-input-secret",
  "invalid-input-secret",
  "sitekey-secret-mismatch",
];

function verdictOfCodes(given: unknown): CaptchaAnswer {
  const codes = Array.isArray(given) ? given : [];
  const fault = serverFaults.find((code) => codes.includes(code));
  if (fault !== undefined) return { kind: "unavailable", reason: fault };
  const [code] = codes;
  return refused(typeof code === "string" && /^[a-z-]{1,60}$/.test(code) ? code : "no-success");
}

function refused(reason: string): CaptchaAnswer {
  return { kind: "refused", reason };
}

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

/** Options of {@link recaptcha}. */
export interface RecaptchaOptions extends SiteVerifyOptions {
  /** Minimum score of reCAPTCHA v3, 0 to 1. Tokens without a score (v2) are then refused. */
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
