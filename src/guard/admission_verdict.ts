export interface AdmissionInput {
  /** True for a live stream: once it has started, the client cannot solve a challenge. */
  readonly isStream: boolean;
  /** True if the caller has used up the resource's `rateLimit`. */
  readonly isRateLimited: boolean;
  /** `enough` if the budget covers the cost, `short` if not, `none` without budget or cost. */
  readonly budget: "none" | "enough" | "short";
  /** True if `abuseProtection.pow` is set, so that proof of work can replace missing tokens. */
  readonly powIsOn: boolean;
  /** True if `abuseProtection.captcha` is set. */
  readonly captchaIsOn: boolean;
  /** True if a CAPTCHA can replace missing tokens for this resource. */
  readonly overflowsToCaptcha: boolean;
  /** True if the resource always requires proof of work for this operation. */
  readonly hasPowGate: boolean;
  /** True if the resource always requires a CAPTCHA for this operation. */
  readonly hasCaptchaGate: boolean;
  /** True if the proof of work is valid, or if the trust hook has required none. */
  readonly hasWorked: boolean;
  /** True if the request contains a valid CAPTCHA token. */
  readonly hasPassedCaptcha: boolean;
}

/** The result of {@link decideAdmission}: the next step for the request. */
export type AdmissionVerdict =
  /** Serves the request. `floor` takes only the tokens that are left, after a solved challenge. */
  | { readonly kind: "serve"; readonly debit: "none" | "whole" | "floor" }
  /** Challenges the client: `gate` if the operation requires it, `overflow` for missing tokens. */
  | {
    readonly kind: "challenge";
    readonly by: "pow" | "captcha";
    readonly gate: boolean;
    readonly overflow: boolean;
  }
  | { readonly kind: "refuse"; readonly limit: "rateLimit" | "budget" };

/**
 * Returns the next step for a request. Only this function defines the order: the rate limit, the
 * budget, then the challenges that the operation requires. A CAPTCHA comes before proof of work.
 * One solution counts both for the operation and for missing tokens.
 */
export function decideAdmission(facts: AdmissionInput): AdmissionVerdict {
  if (facts.isRateLimited) return { kind: "refuse", limit: "rateLimit" };
  const isShort = facts.budget === "short";
  const substitute = isShort ? substituteFor(facts) : "none";
  if (isShort && substitute === "none") return { kind: "refuse", limit: "budget" };
  const gate = gateOf(facts);
  if (gate === "captcha" || substitute === "captcha") {
    if (!facts.hasPassedCaptcha) return challenge("captcha", gate, substitute);
  } else if ((gate === "pow" || substitute === "pow") && !facts.hasWorked) {
    return challenge("pow", gate, substitute);
  }
  if (facts.budget === "none") return { kind: "serve", debit: "none" };
  return { kind: "serve", debit: isShort ? "floor" : "whole" };
}

type ChallengeKind = "none" | "pow" | "captcha";

/** Returns the challenge that can replace missing tokens, or `none`. */
function substituteFor(
  { isStream, overflowsToCaptcha, captchaIsOn, powIsOn }: AdmissionInput,
): ChallengeKind {
  if (isStream) return "none";
  if (overflowsToCaptcha && captchaIsOn) return "captcha";
  return powIsOn ? "pow" : "none";
}

function gateOf({ isStream, hasCaptchaGate, hasPowGate }: AdmissionInput): ChallengeKind {
  if (isStream) return "none";
  if (hasCaptchaGate) return "captcha";
  return hasPowGate ? "pow" : "none";
}

function challenge(
  by: "pow" | "captcha",
  gate: ChallengeKind,
  substitute: ChallengeKind,
): AdmissionVerdict {
  return { kind: "challenge", by, gate: gate !== "none", overflow: substitute !== "none" };
}
