import { type Described, group, listOf } from "../options/option.ts";
import { oneOf, other, whole } from "../options/option_kinds.ts";
import type { CheckoutMode, PaidPrice } from "./providers/billing_provider.ts";

/** A plan: a price of the provider, under a key of the deployer's. */
export interface BillingPlan {
  /** Names it in requests and events. */
  readonly key: string;
  /** The provider's id of the price: see the provider. */
  readonly priceId: string;
  /** For people. */
  readonly name?: string | undefined;
  /** `one_time` is one payment; `subscription` unless set. */
  readonly type?: "subscription" | "one_time" | "usage" | undefined;
  /** The credits that each payment of it grants, for each of the quantity; none unless set. */
  readonly credits?: number | undefined;
  /** For the deployer: `month`. */
  readonly interval?: string | undefined;
  /** For the deployer, and added to the metadata of checkouts. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** A string of 1 to 200 characters, which messages may show. */
function shortText() {
  return other<string>(
    "a text of 1 to 200 characters",
    (given) => typeof given === "string" && /^[^\p{Cc}]{1,200}$/u.test(given),
  );
}

/** The option `plans`, described. */
export const plansOption = listOf(
  "plans, { key, priceId, … }",
  group(
    {
      key: shortText().required(),
      // Messages to providers separate prices by spaces.
      priceId: shortText().fitting("an id without spaces", (id) => /^[^\s*]+$/.test(id)).required(),
      name: shortText(),
      type: oneOf("subscription", "one_time", "usage"),
      credits: whole({ from: 0 }),
      interval: shortText(),
      metadata: other<Readonly<Record<string, string>>>(
        "an object of texts",
        (given) =>
          typeof given === "object" && given !== null &&
          Object.values(given).every((value) => typeof value === "string"),
      ),
    } satisfies Described<BillingPlan>,
  ),
).unlessSet([]);

/** The plans of a service, by key and by price. */
export class BillingPlans {
  readonly #byKey: ReadonlyMap<string, BillingPlan>;
  readonly #byPrice: ReadonlyMap<string, BillingPlan>;

  /** Throws a plain Error where two plans have the same key or price. */
  constructor(plans: readonly BillingPlan[]) {
    this.#byKey = uniquely("key", plans);
    this.#byPrice = uniquely("priceId", plans);
  }

  /** The plan of a key. */
  withKey(key: string): BillingPlan | undefined {
    return this.#byKey.get(key);
  }

  /** The plan of a price. */
  withPrice(priceId: string): BillingPlan | undefined {
    return this.#byPrice.get(priceId);
  }

  /** The plans of what was paid for; prices without a plan are left out. */
  ofPrices(prices: readonly PaidPrice[]): readonly PaidPlan[] {
    return prices.flatMap((line) => {
      const plan = line.ids.map((id) => this.#byPrice.get(id)).find((one) => one !== undefined);
      return plan === undefined ? [] : [{ plan, line }];
    });
  }
}

/** A plan that was paid for, and by which line. */
export interface PaidPlan {
  readonly plan: BillingPlan;
  readonly line: PaidPrice;
}

/** The mode of a checkout for a plan. */
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
