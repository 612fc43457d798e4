/** What is known of a request when it asks to be let in. */
export interface AdmissionFacts {
  /** A live stream: it cannot be challenged, because nothing can be asked once it has begun. */
  readonly isStream: boolean;
  /** The resource's `rateLimit` has no request left for the caller. */
  readonly isRateLimited: boolean;
  /** What the caller's budget says to the cost; `none` where there is no budget or no cost. */
  readonly budget: "none" | "enough" | "short";
  /** `abuseProtection.pow` is there, so that work can stand in for budget. */
  readonly powIsOn: boolean;
  /** `abuseProtection.captcha` is there. */
  readonly captchaIsOn: boolean;
  /** The resource sends those whose budget is short to a CAPTCHA. */
  readonly overflowsToCaptcha: boolean;
  /** The resource always asks for proof of work here. */
  readonly hasPowGate: boolean;
  /** The resource always asks for a CAPTCHA here. */
  readonly hasCaptchaGate: boolean;
  /** The work that is asked for was done, or nothing is asked of this caller. */
  readonly hasWorked: boolean;
  /** The CAPTCHA that is asked for was solved. */
  readonly hasPassedCaptcha: boolean;
}

/** What becomes of a request. */
export type AdmissionVerdict =
  /** `floor` takes what is left where that is less than the cost: something else was given for it. */
  | { readonly kind: "serve"; readonly debit: "none" | "whole" | "floor" }
  /** `gate` and `overflow` say what asks for it: each may want another difficulty. */
  | {
    readonly kind: "challenge";
    readonly by: "pow" | "captcha";
    readonly gate: boolean;
    readonly overflow: boolean;
  }
  | { readonly kind: "refuse"; readonly limit: "rateLimit" | "budget" };

/**
 * The order of enforcement, here and nowhere else: the rate limit, then the budget, then what can
 * stand in for it, then the gates that always stand. A CAPTCHA goes before proof of work where both
 * apply, and one solution serves the gate and the overflow.
 */
export function admissionVerdict(facts: AdmissionFacts): AdmissionVerdict {
  if (facts.isRateLimited) return { kind: "refuse", limit: "rateLimit" };
  const isShort = facts.budget === "short";
  const valve = isShort ? valveOf(facts) : "none";
  if (isShort && valve === "none") return { kind: "refuse", limit: "budget" };
  const gate = gateOf(facts);
  if (gate === "captcha" || valve === "captcha") {
    if (!facts.hasPassedCaptcha) return challenge("captcha", gate, valve);
  } else if ((gate === "pow" || valve === "pow") && !facts.hasWorked) {
    return challenge("pow", gate, valve);
  }
  if (facts.budget === "none") return { kind: "serve", debit: "none" };
  return { kind: "serve", debit: isShort ? "floor" : "whole" };
}

type Means = "none" | "pow" | "captcha";

/** What can stand in for a budget that is short. */
function valveOf({ isStream, overflowsToCaptcha, captchaIsOn, powIsOn }: AdmissionFacts): Means {
  if (isStream) return "none";
  if (overflowsToCaptcha && captchaIsOn) return "captcha";
  return powIsOn ? "pow" : "none";
}

function gateOf({ isStream, hasCaptchaGate, hasPowGate }: AdmissionFacts): Means {
  if (isStream) return "none";
  if (hasCaptchaGate) return "captcha";
  return hasPowGate ? "pow" : "none";
}

function challenge(by: "pow" | "captcha", gate: Means, valve: Means): AdmissionVerdict {
  return { kind: "challenge", by, gate: gate !== "none", overflow: valve !== "none" };
}
