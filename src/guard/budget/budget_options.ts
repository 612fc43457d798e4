import type { User } from "../../auth/user.ts";
import { type Described, group, named } from "../../options/option.ts";
import { callback, number } from "../../options/option_kinds.ts";

/** The options of the budget of each caller for the whole service. */
export interface BudgetOptions {
  /**
   * Budgets by class. The class of a caller without a user is `anonymous`, and the class of every
   * other caller is `authenticated`. A class without an entry has no limit.
   */
  readonly classes: Readonly<Record<string, BudgetClassOptions>>;
  /**
   * Returns the class of a caller. If the function fails or returns none, the class is `anonymous`.
   */
  readonly classify?: Classify | undefined;
}

/** The budget option of one class: the token bucket of each caller. */
export interface BudgetClassOptions {
  /** Maximum and initial number of tokens. */
  readonly capacity: number;
  /** Tokens added per minute; 0 for none. */
  readonly refillPerMinute: number;
}

/** The budget option that returns the class of a caller. */
export type Classify = (request: Request, user: User | null) => string | Promise<string>;

/** The budget class of callers without a user, and of callers without a class from `classify`. */
export const anonymousClass = "anonymous";

/** The budget class of callers with a user. */
export const authenticatedClass = "authenticated";

/** The budget class of requests from MCP tools, if the configuration contains it. */
export const toolClass = "mcp";

/**
 * The maximum number of tokens. Numbers in headers have 15 digits, so thousandths are still shown.
 */
const maxTokens = 1e12;

/** The minimum number of tokens. With less, rounding would let an empty bucket pay. */
export const minTokens = 0.001;

const classOptions = group(
  {
    capacity: number({ from: minTokens, to: maxTokens }).required(),
    refillPerMinute: number({ from: 0 }).required(),
  } satisfies Described<BudgetClassOptions>,
);

/** The descriptions of the options of the budget. */
export const budgetOptions = group(
  {
    classes: named(classOptions.required()).required(),
    classify: callback<Classify>(),
  } satisfies Described<BudgetOptions>,
);

/** Validates the classes of the budget at start. Throws a plain Error that names the option. */
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
