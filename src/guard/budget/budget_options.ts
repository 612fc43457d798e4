import type { User } from "../../auth/authorize.ts";
import { groupOf, mapOf } from "../../options/option.ts";
import { callback, number } from "../../options/option_kinds.ts";

/** The options for the budget that each caller has for all resources together. */
export interface BudgetOptions {
  /**
   * The budgets by class. A caller without a user has the class `anonymous`, and a caller with a
   * user has the class `authenticated`. A class that is missing here has no limit.
   */
  readonly classes: Readonly<Record<string, BudgetClassOptions>>;
  /** Returns a caller's class. An error or an unknown class means `anonymous`. */
  readonly classify?: Classify | undefined;
}

/** The token bucket that each caller of a class has. */
export interface BudgetClassOptions {
  /** The number of tokens in a full bucket, with which every caller starts. */
  readonly capacity: number;
  /** Number of tokens that are added to a bucket per minute; 0 for none. */
  readonly refillPerMinute: number;
}

/** A function that returns the budget class of a caller. */
export type Classify = (request: Request, user: User | null) => string | Promise<string>;

/** The class of callers without a user, and of callers that `classify` cannot classify. */
export const anonymousClass = "anonymous";

export const authenticatedClass = "authenticated";

/** The class of requests that MCP tools send. It applies only if a budget is configured for it. */
export const mcpClass = "mcp";

/** Maximum capacity: a decimal in a header has at most 12 digits before the point and 3 after. */
const maxTokens = 1e12;

/** Minimum of capacities and costs, in tokens: rounding could make a smaller cost free. */
export const minTokenAmount = 0.001;

const classOptions = groupOf<BudgetClassOptions>()({
  capacity: number({ from: minTokenAmount, to: maxTokens }).required(),
  refillPerMinute: number({ from: 0 }).required(),
});

export const budgetOptionRules = groupOf<BudgetOptions>()({
  classes: mapOf(classOptions.required()).required(),
  classify: callback<Classify>(),
});

export function checkBudgetOptions({ classes, classify }: BudgetOptions): void {
  const names = Object.keys(classes);
  const known = [anonymousClass, authenticatedClass, mcpClass];
  const unknown = names.find((name) => classify === undefined && !known.includes(name));
  if (unknown !== undefined) {
    throw new Error(
      `${subject}.classes.${unknown} needs classify: without it callers are ${anonymousClass} or ${authenticatedClass}`,
    );
  }
  if (names.length === 0 || (classify !== undefined && !names.includes(anonymousClass))) {
    throw new Error(`${subject}.classes must name ${anonymousClass}`);
  }
}

const subject = "Cannot start: abuseProtection.budget";
