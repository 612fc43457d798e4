import type { User } from "../../auth/user.ts";
import { type Described, group, named } from "../../options/option.ts";
import { callback, number } from "../../options/option_kinds.ts";

/** The options of the budget: how much each caller may use of the whole service. */
export interface BudgetOptions {
  /**
   * The budgets by class. A caller without a user is `anonymous`, every other `authenticated`; a
   * class that is not named has no limit.
   */
  readonly classes: Readonly<Record<string, BudgetClassOptions>>;
  /** Names another class for a caller. Where it fails or names none, the caller is `anonymous`. */
  readonly classify?: Classify | undefined;
}

/** The budget option of one class of callers: a token bucket, of which each caller has one. */
export interface BudgetClassOptions {
  /** How many tokens it holds at most, and at the start. */
  readonly capacity: number;
  /** How many tokens are added in a minute; 0 for none. */
  readonly refillPerMinute: number;
}

/** The budget option that returns the class of a caller. */
export type Classify = (request: Request, user: User | null) => string | Promise<string>;

/**
 * The budget class of callers without a user, and of those that `classify` cannot name a class for.
 */
export const anonymousClass = "anonymous";

/** The budget class of callers with a user. */
export const authenticatedClass = "authenticated";

/** The budget class of the requests that tools of MCP send, where the configuration names it. */
export const toolClass = "mcp";

/** Numbers in headers have 15 digits, which still show thousandths of so many tokens. */
const maxTokens = 1e12;

/** Less is within the rounding tolerance: an empty bucket would pay for it. */
export const minTokens = 0.001;

const classOptions = group(
  {
    capacity: number({ from: minTokens, to: maxTokens }).required(),
    refillPerMinute: number({ from: 0 }).required(),
  } satisfies Described<BudgetClassOptions>,
);

/** The options of the budget, described. */
export const budgetOptions = group(
  {
    classes: named(classOptions.required()).required(),
    classify: callback<Classify>(),
  } satisfies Described<BudgetOptions>,
);

/**
 * Checks the classes of the budget once, at start. Throws a plain Error that names the option at
 * fault.
 */
export function checkBudget({ classes, classify }: BudgetOptions): void {
  const names = Object.keys(classes);
  const known = [anonymousClass, authenticatedClass, toolClass];
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
