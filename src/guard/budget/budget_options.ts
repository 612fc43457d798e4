import type { User } from "../../auth/user.ts";
import { requireKnownOptions } from "../../problem/require_known_options.ts";
import { showValue } from "../../problem/show_value.ts";

/** How much each caller may ask of the whole service. */
export interface BudgetOptions {
  /**
   * The budgets by class. Whoever has no user is `anonymous`, everybody else `authenticated`; a
   * class that is not named has no limit.
   */
  readonly classes: Readonly<Record<string, BudgetClassOptions>>;
  /** Names another class for a caller. Where it fails or names none, the caller is `anonymous`. */
  readonly classify?: Classify | undefined;
}

/** A bucket of tokens that each caller of the class has one of. */
export interface BudgetClassOptions {
  /** How many tokens it holds at most, and at first. */
  readonly capacity: number;
  /** How many come back in a minute; 0 for none. */
  readonly refillPerMinute: number;
}

/** Gives the class of a caller. */
export type Classify = (request: Request, user: User | null) => string | Promise<string>;

/** The class of those without a user, and of those whom `classify` cannot place. */
export const anonymousClass = "anonymous";

/** The class of those with a user. */
export const authenticatedClass = "authenticated";

/** Checks the options once, at start. Throws a plain Error that names the option at fault. */
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
  // Looked at as they are: JavaScript may have left one out.
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

/** Numbers in headers have 15 digits, and thousandths of so many tokens are still told apart. */
const maxTokens = 1e12;
