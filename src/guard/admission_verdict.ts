/** The facts about a request that the verdict on its admission depends on. */
export interface AdmissionFacts {
  /** A live stream, which cannot be challenged: nothing can be demanded once it has begun. */
  readonly isStream: boolean;
  /** The resource's `rateLimit` has no request left for the caller. */
  readonly isRateLimited: boolean;
  /** True if the caller's budget covers the cost; `none` where there is no budget or no cost. */
  readonly budget: "none" | "enough" | "short";
  /** `abuseProtection.pow` is set: proof of work is accepted in place of budget. */
  readonly powIsOn: boolean;
  /** `abuseProtection.captcha` is set. */
  readonly captchaIsOn: boolean;
  /** The resource accepts a CAPTCHA in place of budget. */
  readonly overflowsToCaptcha: boolean;
  /** The resource always demands proof of work for this operation. */
  readonly hasPowGate: boolean;
  /** The resource always demands a CAPTCHA for this operation. */
  readonly hasCaptchaGate: boolean;
  /** The work was proved, or the trust hook waived it. */
  readonly hasWorked: boolean;
  /** The CAPTCHA was solved. */
  readonly hasPassedCaptcha: boolean;
}

/** The verdict on an admission: its next step. */
export type AdmissionVerdict =
  /** `floor` takes what is left, where that is less than the cost: a challenge paid for the rest. */
  | { readonly kind: "serve"; readonly debit: "none" | "whole" | "floor" }
  /** `gate` and `overflow` say what demands it: their difficulties may differ. */
  | {
    readonly kind: "challenge";
    readonly by: "pow" | "captcha";
    readonly gate: boolean;
    readonly overflow: boolean;
  }
  | { readonly kind: "refuse"; readonly limit: "rateLimit" | "budget" };

/**
 * Decides the verdict on an admission by the order of enforcement, which is written here only: the
 * rate limit, then the budget, then its substitute, then the gates that always apply. Where both
 * apply, a CAPTCHA takes precedence over proof of work, and one solution serves the gate and the
 * overflow.
 */
export function admissionVerdict(facts: AdmissionFacts): AdmissionVerdict {
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

/** Returns the substitute that is accepted if a budget is insufficient. */
function substituteFor(
  { isStream, overflowsToCaptcha, captchaIsOn, powIsOn }: AdmissionFacts,
): ChallengeKind {
  if (isStream) return "none";
  if (overflowsToCaptcha && captchaIsOn) return "captcha";
  return powIsOn ? "pow" : "none";
}

function gateOf({ isStream, hasCaptchaGate, hasPowGate }: AdmissionFacts): ChallengeKind {
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
