import type { BillingEvent, BillingSubscription } from "../billing_event.ts";
import { type BillingPlans, modeOf, type PaidPlan } from "../billing_plan.ts";
import type { BillingProvider, PaidPrice, VendorEvent } from "../providers/billing_provider.ts";

/** What is known about the plans of payments. */
export interface PaidCreditsOptions {
  readonly provider: Pick<BillingProvider, "findPrices">;
  readonly plans: BillingPlans;
  /** Whether a payment of nothing grants, as of a trial or a coupon of 100 %. */
  readonly grantOnZeroAmount: boolean;
  /** The newest known state of a subscription. */
  readonly subscription: (id: string) => Promise<BillingSubscription | null>;
}

/** The plan of a payment, and the credits that it grants: the price that was paid decides. */
export async function paidCredits(
  event: VendorEvent,
  options: PaidCreditsOptions,
): Promise<Pick<BillingEvent, "planKey" | "creditsToGrant">> {
  const { type, payment, subscription } = event;
  if (payment === undefined) {
    const { priceId } = subscription ?? {};
    const plan = priceId === undefined ? undefined : options.plans.withPrice(priceId);
    return plan === undefined ? {} : { planKey: plan.key };
  }
  const { amount, isForCredits, isOnlyForOneTime } = payment;
  const paid = options.plans.ofPrices(await pricesOf(event, options));
  const [first] = paid;
  if (first === undefined) return {};
  const planKey = first.plan.key;
  // A negative one is a credit note.
  const isMoney = amount === undefined || amount > 0 || amount === 0 && options.grantOnZeroAmount;
  const isPaid = type === "payment.succeeded" && isForCredits && isMoney;
  if (!isPaid) return { planKey };
  const creditsToGrant = creditsOf(
    isOnlyForOneTime ? paid.filter(({ plan }) => modeOf(plan) === "payment") : paid,
  );
  return creditsToGrant === 0 ? { planKey } : { planKey, creditsToGrant };
}

async function pricesOf(
  event: VendorEvent,
  { provider, subscription }: PaidCreditsOptions,
): Promise<readonly PaidPrice[]> {
  const { payment, subscriptionId, type } = event;
  if (payment === undefined || payment.prices.length > 0) return payment?.prices ?? [];
  const known = subscriptionId === undefined ? null : await subscription(subscriptionId);
  if (known?.priceId !== undefined) return [{ ids: [known.priceId], quantity: 1 }];
  if (type !== "payment.succeeded") return [];
  // Where the provider does not answer, the delivery fails and is repeated: nothing is lost.
  return await provider.findPrices?.(event) ?? [];
}

function creditsOf(paid: readonly PaidPlan[]): number {
  const sum = paid.reduce((sum, { plan, quantity }) => sum + (plan.credits ?? 0) * quantity, 0);
  if (Number.isSafeInteger(sum) && sum >= 0) return sum;
  throw new Error(`Cannot grant ${sum} credits: the quantity is no whole number, or too large`);
}
