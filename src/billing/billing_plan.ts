import { groupOf, listOf } from "../options/option.ts";
import { oneOf, testedValue, whole } from "../options/option_kinds.ts";
import type { CheckoutMode, PaidPrice } from "./providers/billing_provider.ts";

/** A plan that users can buy: one price of the provider, and a key that you choose for it. */
export interface BillingPlan {
  /** Key of the plan in requests and events. */
  readonly key: string;
  /** The provider's id of the plan's price. */
  readonly priceId: string;
  /** Name of the plan for display. */
  readonly name?: string | undefined;
  /** How customers pay. `one_time` is a single payment. Default: `subscription`. */
  readonly type?: "subscription" | "one_time" | "usage" | undefined;
  /** The credits that each payment grants, multiplied by the bought quantity. Default: none. */
  readonly credits?: number | undefined;
  /** Billing period for your own display, such as `month`. */
  readonly interval?: string | undefined;
  /** Metadata for your own use, which is also sent with checkouts of the plan. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

function shortText() {
  return testedValue<string>(
    "a string of 1 to 200 characters",
    (given) => typeof given === "string" && /^[^\p{Cc}]{1,200}$/u.test(given),
  );
}

export const plansOptionRule = listOf(
  "plans, { key, priceId, … }",
  groupOf<BillingPlan>()({
    key: shortText().required(),
    // A checkout's metadata lists `id*quantity` with spaces between: ids contain no `*` or space.
    priceId: shortText().fitting("an id without spaces", (id) => /^[^\s*]+$/.test(id)).required(),
    name: shortText(),
    type: oneOf("subscription", "one_time", "usage"),
    credits: whole({ from: 0 }),
    interval: shortText(),
    metadata: testedValue<Readonly<Record<string, string>>>(
      "an object of strings",
      (given) =>
        typeof given === "object" && given !== null &&
        Object.values(given).every((value) => typeof value === "string"),
    ),
  }),
).default([]);

export class BillingPlans {
  readonly #byKey: ReadonlyMap<string, BillingPlan>;
  readonly #byPrice: ReadonlyMap<string, BillingPlan>;

  constructor(plans: readonly BillingPlan[]) {
    this.#byKey = uniquely("key", plans);
    this.#byPrice = uniquely("priceId", plans);
  }

  withKey(key: string): BillingPlan | undefined {
    return this.#byKey.get(key);
  }

  withPrice(priceId: string): BillingPlan | undefined {
    return this.#byPrice.get(priceId);
  }

  ofPrices(prices: readonly PaidPrice[]): readonly PaidPlan[] {
    return prices.flatMap((line) => {
      const plan = line.ids.map((id) => this.#byPrice.get(id)).find((one) => one !== undefined);
      return plan === undefined ? [] : [{ plan, line }];
    });
  }
}

export interface PaidPlan {
  readonly plan: BillingPlan;
  readonly line: PaidPrice;
}

export function modeOf({ type }: BillingPlan): CheckoutMode {
  return type === "one_time" ? "payment" : "subscription";
}

function uniquely(
  name: "key" | "priceId",
  plans: readonly BillingPlan[],
): ReadonlyMap<string, BillingPlan> {
  const found = new Map<string, BillingPlan>();
  for (const plan of plans) {
    if (found.has(plan[name])) {
      throw new Error(`Cannot start: two plans have the ${name} "${plan[name]}"`);
    }
    found.set(plan[name], plan);
  }
  return found;
}
