import type { User } from "../../auth/user.ts";
import { requireKnownOptions } from "../../problem/require_known_options.ts";
import { showValue } from "../../problem/show_value.ts";

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

/** The budget option that gives the class of a caller. */
export type Classify = (request: Request, user: User | null) => string | Promise<string>;

/**
 * The budget class of callers without a user, and of those that `classify` cannot name a class for.
 */
export const anonymousClass = "anonymous";

/** The budget class of callers with a user. */
export const authenticatedClass = "authenticated";

/**
 * Checks the options of the budget once, at start. Throws a plain Error that names the option at
 * fault.
 */
export function checkBudget(options: BudgetOptions): void {
  requireKnownOptions(options, { classes: true, classify: true }, subject);
  const { classes, classify } = options;
  if (typeof classes !== "object" || classes === null || Object.keys(classes).length === 0) {
    throw new Error(`${subject}: classes must name at least one class, like anonymous`);
  }
  if (classify !== undefined && typeof classify !== "function") {
    throw new Error(`${subject}.classify: it must be a function, not ${showValue(classify)}`);
  }
  if (classify === undefined) {
    const known = { [anonymousClass]: true, [authenticatedClass]: true } as const;
    requireKnownOptions(classes, known, `${subject} without classify: classes`);
  } else if (!Object.hasOwn(classes, anonymousClass)) {
    throw new Error(`${subject}: with classify, classes must name ${anonymousClass}`);
  }
  for (const [name, one] of Object.entries(classes)) checkClass(name, one);
}

const subject = "Cannot use abuseProtection.budget";

function checkClass(name: string, one: unknown): void {
  const option = `${subject}.classes.${name}`;
  if (typeof one !== "object" || one === null) {
    throw new Error(`${option}: it must be { capacity, refillPerMinute }, not ${showValue(one)}`);
  }
  requireKnownOptions(one, { capacity: true, refillPerMinute: true }, option);
  // Partial, because a caller in JavaScript may leave one out.
  const { capacity, refillPerMinute } = one as Partial<BudgetClassOptions>;
  if (
    capacity === undefined || !Number.isFinite(capacity) || capacity <= 0 || capacity > maxTokens
  ) {
    throw new Error(`${option}.capacity ${capacity}: it must be a number over 0, at most 1e12`);
  }
  if (
    refillPerMinute === undefined || !Number.isFinite(refillPerMinute) || refillPerMinute < 0
  ) {
    throw new Error(`${option}.refillPerMinute ${refillPerMinute}: it must be a number from 0 on`);
  }
}

/** Numbers in headers have 15 digits, which still show thousandths of so many tokens. */
const maxTokens = 1e12;
