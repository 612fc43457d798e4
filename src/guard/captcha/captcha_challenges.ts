import { createHash } from "node:crypto";
import { Problem } from "../../problem/problem.ts";
import { captchaHeaders } from "../../protocol/captcha_headers.ts";
import { claimKey, type KeyClaim, type KeyValue } from "../../kv/key_value.ts";
import { deadline, type Runtime, uuidV7 } from "../../runtime/runtime.ts";
import type { CaptchaAnswer, CaptchaQuestion, CaptchaVerifier } from "./captcha_verifier.ts";
import { boundedMap } from "../../runtime/bounded_map.ts";
import { groupOf } from "../../options/option.ts";
import { flag, testedValue, textLike } from "../../options/option_kinds.ts";

export type CaptchaChallenges = ReturnType<typeof createCaptchaChallenges>;

type CaptchaRequirements = Pick<CaptchaQuestion, "action" | "remoteIp">;

interface CaptchaChallengesOptions extends ResolvedCaptchaOptions {
  readonly store: KeyValue;
  readonly runtime: Runtime;
}

const maxWaitMs = 5_000;

const retryAfter = "5";

export function createCaptchaChallenges(parts: CaptchaChallengesOptions) {
  const { verifier, tokenHeader, store, runtime } = parts;
  const { provider, siteKey } = verifier;
  const claimToken = createTokenClaims(store);

  function issueChallenge(action: string | undefined): Record<string, string> {
    return {
      [captchaHeaders.challengeType]: "captcha",
      [captchaHeaders.provider]: provider,
      [captchaHeaders.siteKey]: siteKey,
      ...(action === undefined ? {} : { [captchaHeaders.action]: action }),
    };
  }

  async function verifyToken(
    headers: Headers,
    conditions: CaptchaRequirements,
  ): Promise<string | null> {
    const token = headers.get(tokenHeader);
    if (token === null) return "absent";
    // The values of a header that was sent twice are joined by ", ", which this pattern rejects.
    if (!/^[\x21-\x7e]{1,8192}$/.test(token)) return "malformed";
    const id = createHash("sha256").update(token).digest("base64url");
    // Claims the token first, because the provider might accept it in two concurrent requests.
    const claim = await claimToken(id);
    if (claim === null) return "replayed";
    const answer = await callVerifier(verifier, { token, ...conditions }, runtime);
    switch (answer.kind) {
      case "passed":
        return null;
      case "refused":
        return answer.reason;
      default:
        await claim.revoke();
        throw new Problem("captcha-unavailable", "The CAPTCHA provider gave no verdict", {
          cause: new Error(`The CAPTCHA provider gave ${answer.reason}`, { cause: answer.cause }),
          headers: { "retry-after": retryAfter },
        });
    }
  }

  return {
    issueChallenge,
    /** Marks a valid token as used. Returns null if it was valid and unused, or the reason. */
    verifyToken,
    /** Accepts a valid unused token; else rejects with a challenge or `captcha-unavailable`. */
    async require({ headers }: Request, conditions: CaptchaRequirements) {
      const reason = await verifyToken(headers, conditions);
      if (reason === null) return;
      if (reason !== "absent") runtime.observe({ kind: "captcha_refused", provider, reason });
      // The response is the same for all reasons, so that an attacker does not learn which applies.
      throw new Problem("captcha-required", "This request needs a solved CAPTCHA", {
        headers: issueChallenge(conditions.action),
      });
    },
  };
}

/** Calls the verifier. Never rejects: an error of the verifier refuses the token. */
async function callVerifier(
  verifier: CaptchaVerifier,
  conditions: Pick<CaptchaQuestion, "token" | "action" | "remoteIp">,
  { clock, random, observe }: Runtime,
): Promise<CaptchaAnswer> {
  const controller = new AbortController();
  const late = new Error("No answer in time");
  const question = { ...conditions, id: uuidV7(clock, random), signal: controller.signal };
  try {
    const verification = (async () => await verifier.verify(question))();
    const answer: unknown = await deadline(maxWaitMs, clock, () => late).within(verification);
    return normalizeAnswer(answer);
  } catch (error) {
    if (error === late) return { kind: "unavailable", reason: "no answer in time" };
    observe({ kind: "captcha_verifier_failed", provider: verifier.provider, error });
    return { kind: "refused", reason: "verifier-failed" };
  } finally {
    controller.abort();
  }
}

/** Converts the result of a verifier, which may come from unchecked JavaScript. */
function normalizeAnswer(given: unknown): CaptchaAnswer {
  if (given === true) return { kind: "passed" };
  if (typeof given !== "object" || given === null || !("kind" in given)) {
    return { kind: "refused", reason: "not-passed" };
  }
  if (given.kind === "passed") return { kind: "passed" };
  const reason = "reason" in given ? String(given.reason).slice(0, 200) : "not-passed";
  if (given.kind !== "unavailable") return { kind: "refused", reason };
  return { kind: "unavailable", reason, cause: "cause" in given ? given.cause : undefined };
}

/** Creates the function that claims a CAPTCHA token for the first caller in all processes. */
function createTokenClaims(store: KeyValue) {
  // Remembers used tokens, so that they are refused without calling the store.
  const used = boundedMap<string, boolean>(20_000);
  return async (id: string): Promise<KeyClaim | null> => {
    if (used.get(id) === true) return null;
    used.set(id, true);
    try {
      const claim = await claimKey(store, ["captcha", id], claimMs);
      return claim && {
        async revoke() {
          await claim.revoke();
          used.set(id, false);
        },
      };
    } catch (error) {
      // The store may or may not contain the claim, so the next request asks the store again.
      used.set(id, false);
      throw error;
    }
  };
}

/** How long a claim is kept, in milliseconds: until the providers themselves refuse the token. */
const claimMs = 300_000;

/** The options of CAPTCHAs for the whole service. */
export interface CaptchaOptions {
  /** The verifier of tokens: {@link turnstile}, {@link hcaptcha}, {@link recaptcha} or your own. */
  readonly verifier: CaptchaVerifier;
  /** Name of the request header with the token. Default: `Service-Captcha-Token`. */
  readonly tokenHeader?: string | undefined;
  /** True if production may use a provider's published test keys. Default: false. */
  readonly allowTestKeys?: boolean | undefined;
}

export const headerTextOptionRule = textLike("a string without spaces", /^[\x21-\x7e]{1,256}$/);

export const captchaOptionRules = groupOf<CaptchaOptions>()({
  verifier: testedValue<CaptchaVerifier>(
    "a verifier: an object with a provider, a siteKey and a function verify",
    (verifier) =>
      typeof verifier === "object" && verifier !== null && "verify" in verifier &&
      typeof verifier.verify === "function" &&
      ["provider", "siteKey"].every((name) =>
        headerTextOptionRule.rules.fits(Reflect.get(verifier, name))
      ),
  ).required(),
  tokenHeader: textLike("the name of a header", /^[\w!#$%&'*+.^`|~-]+$/)
    .default(captchaHeaders.token),
  allowTestKeys: flag().default(false),
});

type ResolvedCaptchaOptions = ReturnType<typeof resolveCaptchaOptions>;

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
