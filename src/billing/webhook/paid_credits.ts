import type { BillingEvent, NotGranted } from "../billing_event.ts";
import { type BillingPlans, modeOf, type PaidPlan } from "../billing_plan.ts";
import type {
  BillingProvider,
  PaidPrice,
  ReadTerms,
  VendorEvent,
  VendorPayment,
} from "../providers/billing_provider.ts";
import {
  addTerms,
  hasNoGapBefore,
  type SubscriptionTerms,
  termsAfterChange,
  termsAt,
  termsOfReportedState,
} from "./subscription_terms.ts";

export interface PaidCreditsOptions {
  readonly provider: Pick<BillingProvider, "findPrices" | "readTerms">;
  readonly plans: BillingPlans;
  /** True if a payment of the amount 0 grants credits, as for a trial or a 100 % coupon. */
  readonly grantOnZeroAmount: boolean;
  readonly terms: (subscriptionId: string) => Promise<readonly SubscriptionTerms[]>;
}

type Paid = Pick<BillingEvent, "planKey" | "creditsToGrant" | "notGranted">;

/**
 * Returns the plan of a payment and the credits to grant, or the reason why there are none. Only
 * what was bought counts, at the prices of that time, no matter who paid.
 */
export async function paidCredits(event: VendorEvent, options: PaidCreditsOptions): Promise<Paid> {
  const { type, payment, subscription } = event;
  if (payment === undefined) {
    const { priceId } = subscription ?? {};
    const plan = priceId === undefined ? undefined : options.plans.withPrice(priceId);
    return plan === undefined ? {} : { planKey: plan.key };
  }
  const lines = await linesOf(event, payment, options);
  const paid = options.plans.ofPrices(lines);
  const planKey = (paid.find(({ line }) => line.isProration !== true) ?? paid[0])?.plan.key;
  const plan = planKey === undefined ? {} : { planKey };
  if (type !== "payment.succeeded") return plan;
  if (lines.length === 0) {
    return { notGranted: payment.isOnlyForOneTime ? "other-event" : "unknown-price" };
  }
  const granted = creditsOf(paid, payment, options.grantOnZeroAmount);
  return typeof granted === "number"
    ? { ...plan, creditsToGrant: granted }
    : { ...plan, notGranted: granted };
}

function creditsOf(
  paid: readonly PaidPlan[],
  payment: VendorPayment,
  grantOnZeroAmount: boolean,
): number | NotGranted {
  if (paid.length === 0) return "no-plan";
  const here = payment.isOnlyForOneTime
    ? paid.filter(({ plan }) => modeOf(plan) === "payment")
    : paid;
  if (here.length === 0) return "other-event";
  const whole = payment.isForCredits ? here.filter(({ line }) => line.isProration !== true) : [];
  if (whole.length === 0) return "proration";
  const bought = whole.filter(({ line }) => {
    const amount = line.amount ?? payment.netAmount ?? payment.amount;
    // A negative amount is that of a credit note.
    return amount === undefined || amount > 0 || amount === 0 && grantOnZeroAmount;
  });
  if (bought.length === 0) return "zero-amount";
  if (payment.isPaidByCredit === true) return "paid-by-credit";
  const isCount = ({ line: { quantity } }: PaidPlan) =>
    Number.isSafeInteger(quantity) && quantity > 0;
  if (!bought.every(isCount)) return "quantity";
  const sum = bought.reduce((sum, { plan, line }) => sum + (plan.credits ?? 0) * line.quantity, 0);
  if (!Number.isSafeInteger(sum)) return "quantity";
  return sum === 0 ? "no-credits" : sum;
}

/** Returns what was paid, or the price at that time if the payment does not say it. */
async function linesOf(
  event: VendorEvent,
  payment: VendorPayment,
  { provider, terms }: PaidCreditsOptions,
): Promise<readonly PaidPrice[]> {
  if (payment.hasMorePrices === true && event.type === "payment.succeeded") {
    return await provider.findPrices?.(event) ?? [];
  }
  if (payment.prices.length > 0) return payment.prices;
  const { subscriptionId } = event;
  if (subscriptionId === undefined) return [];
  const at = payment.boughtAt ?? event.occurredAt;
  const known = await terms(subscriptionId);
  const isKnown = payment.isChange === true
    ? termsAfterChange(known, at) !== undefined
    : payment.isFirst === true && known[0]?.since === "" || hasNoGapBefore(known, at);
  // If the provider does not respond, the delivery fails and will be repeated.
  const read = isKnown || event.type !== "payment.succeeded"
    ? null
    : await provider.readTerms?.(subscriptionId) ?? null;
  const all = read === null ? known : addTerms(known, termsNow(read, at));
  if (payment.isChange === true) {
    const change = termsAfterChange(all, at);
    const latest = change?.terms ?? termsAt(known, at);
    return latest === undefined ? [] : lineOf(latest, change?.beganPeriod !== true);
  }
  const [first] = known;
  const then = payment.isFirst === true && first?.since === "" ? first : termsAt(all, at);
  if (then?.priceId !== undefined) return lineOf(then, false);
  return event.type === "payment.succeeded" ? await provider.findPrices?.(event) ?? [] : [];
}

/** Returns the current price and quantity, if they have not changed since the payment. */
function termsNow(
  { subscription, itemChangedAt = "", changedAt = "" }: ReadTerms,
  at: string,
): SubscriptionTerms {
  const since = itemChangedAt > at ? itemChangedAt : at;
  return termsOfReportedState(subscription, {
    since,
    ...(changedAt > since ? { heldUntil: changedAt } : {}),
  });
}

function lineOf(
  { priceId, quantity = 1 }: SubscriptionTerms,
  isProration: boolean,
): readonly PaidPrice[] {
  return priceId === undefined ? [] : [{ ids: [priceId], quantity, isProration }];
}
