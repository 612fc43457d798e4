export interface AdmissionInput {
  /** True for a live stream, which cannot be challenged after it has started. */
  readonly isStream: boolean;
  /** True if the resource's `rateLimit` is used up for the caller. */
  readonly isRateLimited: boolean;
  /** `enough` if the budget covers the cost, `short` if not, `none` without a budget or a cost. */
  readonly budget: "none" | "enough" | "short";
  /** True if `abuseProtection.pow` is set. Then a proof of work replaces missing tokens. */
  readonly powIsOn: boolean;
  /** True if `abuseProtection.captcha` is set. */
  readonly captchaIsOn: boolean;
  /** True if a CAPTCHA replaces missing tokens of the budget for this resource. */
  readonly overflowsToCaptcha: boolean;
  /** True if the resource always requires proof of work for this operation. */
  readonly hasPowGate: boolean;
  /** True if the resource always requires a CAPTCHA for this operation. */
  readonly hasCaptchaGate: boolean;
  /** True if the proof of work is valid, or if the trust hook requires no work. */
  readonly hasWorked: boolean;
  /** True if the request contains a valid CAPTCHA token. */
  readonly hasPassedCaptcha: boolean;
}

/** The result of {@link decideAdmission}: the next step for the request. */
export type AdmissionVerdict =
  /** Serves the request. `floor` takes only the remaining tokens, after a solved challenge. */
  | { readonly kind: "serve"; readonly debit: "none" | "whole" | "floor" }
  /** Challenges the client: `gate` for a gate of the operation, `overflow` for missing tokens. */
  | {
    readonly kind: "challenge";
    readonly by: "pow" | "captcha";
    readonly gate: boolean;
    readonly overflow: boolean;
  }
  | { readonly kind: "refuse"; readonly limit: "rateLimit" | "budget" };

/**
 * Returns the next step for a request. Only this function defines the order of the limits: first
 * the rate limit, then the budget, then the gates. A CAPTCHA precedes proof of work. One solution
 * is valid both for a gate and for missing tokens.
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

/** Returns the challenge that replaces missing tokens, or `none`. */
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
