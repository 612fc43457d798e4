import { type Described, listOf } from "../../options/option.ts";
import { callback, other, textLike } from "../../options/option_kinds.ts";
import { readBytes } from "../../runtime/read_bytes.ts";
import { headerText } from "./captcha_options.ts";
import type { CaptchaAnswer, CaptchaQuestion, CaptchaVerifier } from "./captcha_verifier.ts";

/** Options of the siteverify protocol, which all CAPTCHA vendors share. */
export interface SiteVerifyOptions {
  /** The public key of the site. */
  readonly siteKey: string;
  /** The secret of the site key. */
  readonly secret: string;
  /** The hosts on which the CAPTCHA may be solved, compared exactly. Default: any host. */
  readonly hostnames?: readonly string[] | undefined;
  /** Another URL of the vendor, for instance for tests. */
  readonly endpoint?: string | undefined;
  /** Sends the question. Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** Keys are sent in a form or a header. A space in a key is a copying mistake. */
const key = other<string>(
  "a key as the vendor gave it, without spaces",
  (given) => headerText.rules.fits(given),
);

/** The descriptions of the options of the siteverify protocol. */
export const siteVerifyOptions = {
  siteKey: key.required(),
  secret: key.required(),
  hostnames: listOf('hosts, like "example.com"', textLike("a host", /^[^\s/:]+$/)),
  endpoint: other<string>(
    "a URL",
    (given) => typeof given === "string" && /^https?:$/.test(URL.parse(given)?.protocol ?? ""),
  ),
  fetch: callback<typeof fetch>(),
} satisfies Described<SiteVerifyOptions>;

/** The differences between the CAPTCHA vendors in the siteverify protocol. */
export interface CaptchaVendor {
  readonly provider: string;
  readonly endpoint: string;
  /** Form fields in addition to secret, token and address. */
  readonly extraFields: (question: CaptchaQuestion) => Readonly<Record<string, string>>;
  /** Length of the longest token that the vendor issues, in characters. */
  readonly maxTokenLength: number;
  /** The number of attempts: two only if the vendor recognizes a repeated question. */
  readonly tries: 1 | 2;
  /** True if the response of the vendor contains the action of the CAPTCHA. */
  readonly hasActions: boolean;
  /** Site keys and secrets that the vendor publishes for tests. */
  readonly testKeys: RegExp;
  /** Minimum score; null if no score is required. */
  readonly minScore: number | null;
}

/**
 * Verifies CAPTCHA tokens by the siteverify protocol that the vendors share: a form, and a response
 * with `success: true`.
 */
export function siteVerifier(vendor: CaptchaVendor, options: SiteVerifyOptions): CaptchaVerifier {
  const { provider, hasActions, testKeys, tries, maxTokenLength } = vendor;
  const { siteKey, secret, endpoint = vendor.endpoint, hostnames = null } = options;
  const rules = { hostnames, minScore: vendor.minScore };

  async function send(question: CaptchaQuestion): Promise<CaptchaAnswer> {
    const { token, remoteIp, signal } = question;
    const body = new URLSearchParams({ secret, response: token });
    if (remoteIp !== undefined) body.set("remoteip", remoteIp);
    for (const [name, value] of Object.entries(vendor.extraFields(question))) body.set(name, value);
    const post = options.fetch ?? fetch;
    try {
      const reply = await post(endpoint, {
        method: "POST",
        body,
        redirect: "error",
        signal,
      });
      const text = await readBytes(reply.body, { limit: maxAnswerLength });
      if (!reply.ok) return { kind: "unavailable", reason: `status ${reply.status}` };
      if (typeof text === "string") return { kind: "unavailable", reason: "an answer too long" };
      return verdictOf(parseFields(text), { ...rules, action: question.action });
    } catch (cause) {
      // `fetch` throws these errors on failures, redirects and aborts.
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

/** Returns the members of the response, or null if it is not a JSON object. */
function parseFields(bytes: Uint8Array): Fields | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? new Map(Object.entries(value)) : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

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
  // A missing score is also refused, because a key without scores must not pass a gate that
  // requires one.
  const isScored = minScore === null || typeof score === "number" && score >= minScore;
  return isScored ? { kind: "passed" } : refused("low-score");
}

/** Faults of the configuration or of the vendor. Another token would not help. */
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
