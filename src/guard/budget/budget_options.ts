import type { User } from "../../auth/user.ts";
import { type Described, group, mapOf } from "../../options/option.ts";
import { callback, number } from "../../options/option_kinds.ts";

/** The options of the budget of each caller for the whole service. */
export interface BudgetOptions {
  /**
   * Budgets by class. A caller without a user has class `anonymous`, and a caller with a user
   * `authenticated`. A class that is not listed has no limit.
   */
  readonly classes: Readonly<Record<string, BudgetClassOptions>>;
  /** Returns the class of a caller. An error or a missing class means `anonymous`. */
  readonly classify?: Classify | undefined;
}

/** The token bucket that each caller of a class has. */
export interface BudgetClassOptions {
  /** Number of tokens in a full bucket, which is also the initial number. */
  readonly capacity: number;
  /** Number of tokens that are added to a bucket per minute; 0 for none. */
  readonly refillPerMinute: number;
}

/** A function that returns the budget class of a caller. */
export type Classify = (request: Request, user: User | null) => string | Promise<string>;

/** The budget class of callers without a user, and of callers that `classify` does not classify. */
export const anonymousClass = "anonymous";

export const authenticatedClass = "authenticated";

/** The budget class of requests from MCP tools, if it is configured. */
export const mcpClass = "mcp";

/** Maximum capacity. A number in a header has up to 12 digits before the point and 3 after it. */
const maxTokens = 1e12;

/** The minimum of capacities and costs, in tokens. Rounding could make a lower cost free. */
export const minTokenAmount = 0.001;

const classOptions = group(
  {
    capacity: number({ from: minTokenAmount, to: maxTokens }).required(),
    refillPerMinute: number({ from: 0 }).required(),
  } satisfies Described<BudgetClassOptions>,
);

export const budgetOptionDescriptions = group(
  {
    classes: mapOf(classOptions.required()).required(),
    classify: callback<Classify>(),
  } satisfies Described<BudgetOptions>,
);

/** Validates the budget classes at start. Throws a plain Error that names the invalid option. */
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
