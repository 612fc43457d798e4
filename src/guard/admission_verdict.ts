/** The facts about a request that determine its admission. */
export interface AdmissionFacts {
  /** True for a live stream, which cannot be challenged once it has started. */
  readonly isStream: boolean;
  /** True if the resource's `rateLimit` allows the caller no further request. */
  readonly isRateLimited: boolean;
  /** Says whether the caller's budget covers the cost. `none` if there is no budget or no cost. */
  readonly budget: "none" | "enough" | "short";
  /** True if `abuseProtection.pow` is set: proof of work is accepted instead of budget. */
  readonly powIsOn: boolean;
  /** True if `abuseProtection.captcha` is set. */
  readonly captchaIsOn: boolean;
  /** True if the resource accepts a CAPTCHA instead of budget. */
  readonly overflowsToCaptcha: boolean;
  /** True if the resource always requires proof of work for this operation. */
  readonly hasPowGate: boolean;
  /** True if the resource always requires a CAPTCHA for this operation. */
  readonly hasCaptchaGate: boolean;
  /** True if the work was proved, or the trust hook waived it. */
  readonly hasWorked: boolean;
  /** True if the CAPTCHA was solved. */
  readonly hasPassedCaptcha: boolean;
}

/** The verdict on an admission: its next step. */
export type AdmissionVerdict =
  /** `floor` takes the remaining budget if it is too small. A challenge paid for the rest. */
  | { readonly kind: "serve"; readonly debit: "none" | "whole" | "floor" }
  /** `gate` and `overflow` are the reasons of the challenge, whose difficulties may differ. */
  | {
    readonly kind: "challenge";
    readonly by: "pow" | "captcha";
    readonly gate: boolean;
    readonly overflow: boolean;
  }
  | { readonly kind: "refuse"; readonly limit: "rateLimit" | "budget" };

/**
 * Returns the verdict on an admission. Only this function defines the order of enforcement: the
 * rate limit, the budget, its substitute, and the gates that always apply. If both apply, a CAPTCHA
 * precedes proof of work, and one solution serves both the gate and the overflow.
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
