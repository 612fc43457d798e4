import { assertEquals } from "@std/assert";
import {
  type AdmissionInput,
  type AdmissionVerdict,
  decideAdmission,
} from "../../src/guard/admission.ts";

/** Every combination of the facts. */
function allFacts(): readonly AdmissionInput[] {
  const flags = [
    "isUnchallenged",
    "isRateLimited",
    "powIsOn",
    "captchaIsOn",
    "overflowsToCaptcha",
    "hasPowGate",
    "hasCaptchaGate",
    "hasWorked",
    "hasPassedCaptcha",
  ] as const;
  return (["none", "enough", "short"] as const).flatMap((budget) =>
    Array.from({ length: 2 ** flags.length }, (_, bits) => ({
      budget,
      ...Object.fromEntries(flags.map((flag, index) => [flag, (bits >> index & 1) === 1])),
    } as AdmissionInput))
  );
}

type Rule = readonly [
  sentence: string,
  when: (facts: AdmissionInput) => boolean,
  then: (facts: AdmissionInput) => AdmissionVerdict,
];

const paysInFull = ({ budget }: AdmissionInput): AdmissionVerdict => ({
  kind: "serve",
  debit: budget === "none" ? "none" : "whole",
});
const paysWhatIsLeft = (): AdmissionVerdict => ({ kind: "serve", debit: "floor" });
const refusedBy = (limit: "rateLimit" | "budget") => (): AdmissionVerdict => ({
  kind: "refuse",
  limit,
});
const askedFor =
  (by: "pow" | "captcha", gate: boolean, overflow: boolean) => (): AdmissionVerdict => ({
    kind: "challenge",
    by,
    gate,
    overflow,
  });
const isShort = ({ budget }: AdmissionInput) => budget === "short";
const valveIsCaptcha = ({ overflowsToCaptcha, captchaIsOn }: AdmissionInput) =>
  overflowsToCaptcha && captchaIsOn;

/**
 * The specification, sentence by sentence: the first that applies decides. Written independently
 * of the code, as the long list that the code abbreviates.
 */
const rules: readonly Rule[] = [
  [
    "`rateLimit` exceeded is 429, before all else",
    (facts) => facts.isRateLimited,
    refusedBy("rateLimit"),
  ],
  [
    "a stream is refused by the budget and never challenged",
    (facts) => facts.isUnchallenged && isShort(facts),
    refusedBy("budget"),
  ],
  [
    "a stream takes no in-band proof of work or CAPTCHA",
    (facts) => facts.isUnchallenged,
    paysInFull,
  ],
  [
    "a short budget is 429 with PoW disabled and CAPTCHA not the overflow valve",
    (facts) => isShort(facts) && !facts.powIsOn && !facts.overflowsToCaptcha,
    refusedBy("budget"),
  ],
  [
    "without a CAPTCHA provider, `overflow: captcha` falls back to PoW, then to 429",
    (facts) => isShort(facts) && facts.overflowsToCaptcha && !facts.captchaIsOn && !facts.powIsOn,
    refusedBy("budget"),
  ],
  [
    "one CAPTCHA serves gate and overflow, and goes before PoW",
    (facts) =>
      isShort(facts) && facts.hasPassedCaptcha && (facts.hasCaptchaGate || valveIsCaptcha(facts)),
    paysWhatIsLeft,
  ],
  [
    "a budget that overflows to CAPTCHA demands one, gate or no gate",
    (facts) =>
      isShort(facts) && valveIsCaptcha(facts) && !facts.hasCaptchaGate && !facts.hasPowGate,
    askedFor("captcha", false, true),
  ],
  [
    "the same beside a gate that always applies, whichever",
    (facts) => isShort(facts) && (valveIsCaptcha(facts) || facts.hasCaptchaGate),
    askedFor("captcha", true, true),
  ],
  [
    "one proof of work serves gate and overflow",
    (facts) => isShort(facts) && facts.hasWorked,
    paysWhatIsLeft,
  ],
  [
    "a short budget with PoW enabled is 428, harder beside a gate",
    (facts) => isShort(facts) && facts.hasPowGate,
    askedFor("pow", true, true),
  ],
  ["a short budget with PoW enabled is 428", isShort, askedFor("pow", false, true)],
  [
    "a CAPTCHA gate challenges even when budget remains",
    (facts) => facts.hasCaptchaGate && !facts.hasPassedCaptcha,
    askedFor("captcha", true, false),
  ],
  [
    "CAPTCHA takes precedence over PoW when both apply, and is enough",
    (facts) => facts.hasCaptchaGate,
    paysInFull,
  ],
  [
    "a PoW gate challenges even when budget remains",
    (facts) => facts.hasPowGate && !facts.hasWorked,
    askedFor("pow", true, false),
  ],
  ["whatever else comes is served, and its cost debited", () => true, paysInFull],
];

Deno.test("every combination of facts has the verdict that the specification gives it", () => {
  const cases = allFacts();
  const used = new Set<string>();
  for (const facts of cases) {
    const rule = rules.find(([, when]) => when(facts));
    used.add(rule?.[0] ?? "none");
    assertEquals(
      decideAdmission(facts),
      rule?.[2](facts),
      `${rule?.[0]}: ${JSON.stringify(facts)}`,
    );
  }
  assertEquals(cases.length, 1_536);
  assertEquals(used.size, rules.length, "every rule decides something");
});

Deno.test("a request served without a challenge would not have been challenged for anything else", () => {
  for (const facts of allFacts()) {
    const verdict = decideAdmission({ ...facts, hasWorked: true, hasPassedCaptcha: true });
    assertEquals(verdict.kind === "challenge", false, JSON.stringify(facts));
  }
});
