import type { BillingEvent, BillingSubscription, NotGranted } from "../billing_event.ts";
import { type BillingPlans, modeOf, type PaidPlan } from "../billing_plan.ts";
import type {
  BillingProvider,
  PaidPrice,
  ReadTerms,
  VendorEvent,
  VendorPayment,
} from "../providers/billing_provider.ts";
import { compact } from "../providers/json_fields.ts";

export interface PaidCreditsOptions {
  readonly provider: Pick<BillingProvider, "findPrices" | "readTerms">;
  readonly plans: BillingPlans;
  readonly grantOnZeroAmount: boolean;
  readonly terms: (subscriptionId: string) => Promise<readonly SubscriptionTerms[]>;
}

type Paid = Pick<BillingEvent, "planKey" | "creditsToGrant" | "notGranted">;

/** Finds the plan of a payment by its prices, and the credits or the reason why there are none. */
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
    // A line with a negative amount is a credit note, for which nothing was bought.
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
  // If the provider does not respond, this call throws: the delivery fails and will be repeated.
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

export interface SubscriptionTerms
  extends Pick<BillingSubscription, "priceId" | "quantity" | "currentPeriodEnd"> {
  /** Start of this price and quantity, in RFC 3339; "" if they applied from the beginning. */
  readonly since: string;
  readonly heldFrom?: string;
  readonly heldUntil?: string;
  /** If {@link addTerms} dropped elements after this one: the start of the earliest of these. */
  readonly unknownFrom?: string;
}

export function termsOfReportedState(
  { priceId, quantity, currentPeriodEnd }: BillingSubscription,
  times: Pick<SubscriptionTerms, "since" | "heldFrom" | "heldUntil">,
): SubscriptionTerms {
  return { ...times, ...compact({ priceId, quantity, currentPeriodEnd }) };
}

/**
 * Adds terms to a subscription's history, which is sorted by start. Keeps the first element and the
 * newest 50, and stores the start of the dropped elements in the first one's `unknownFrom`.
 */
export function addTerms(
  history: readonly SubscriptionTerms[],
  added: SubscriptionTerms,
): readonly SubscriptionTerms[] {
  if (history.some((one) => isSame(one, added))) return history;
  const place = history.findLastIndex(({ since }) => since <= added.since) + 1;
  const [first = added, ...others] = history.toSpliced(place, 0, added);
  const [dropped] = others.slice(0, -50);
  if (dropped === undefined) return [first, ...others];
  const unknownFrom = [dropped.since, first.unknownFrom ?? dropped.since].sort()[0];
  return [{ ...first, ...compact({ unknownFrom }) }, ...others.slice(-50)];
}

function hasNoGapBefore(history: readonly SubscriptionTerms[], at: string): boolean {
  return history.some(({ since, heldUntil }) => since >= at || (heldUntil ?? since) >= at);
}

function termsAt(
  history: readonly SubscriptionTerms[],
  at: string,
): SubscriptionTerms | undefined {
  const holding = history.find(({ since, heldFrom = since, heldUntil = since }) =>
    heldFrom <= at && at <= heldUntil
  );
  if (holding !== undefined) return holding;
  const terms = history.findLast(({ since }) => since <= at);
  const isDropped = terms?.unknownFrom !== undefined && terms.unknownFrom <= at;
  return isDropped ? undefined : terms;
}

function termsAfterChange(history: readonly SubscriptionTerms[], at: string) {
  const changes = history.flatMap((terms, index) => {
    const before = history[index - 1];
    const isChange = before !== undefined && before.unknownFrom === undefined &&
      before.priceId !== terms.priceId;
    const awayMs = Math.abs(Date.parse(terms.since) - Date.parse(at));
    return isChange && awayMs <= maxAwayMs ? [{ before, terms, awayMs }] : [];
  });
  const [nearest] = changes.sort((a, b) => a.awayMs - b.awayMs);
  if (nearest === undefined) return undefined;
  const { before, terms } = nearest;
  // A period whose end stays the same is the old period. A renewal moves the end.
  const end = before.currentPeriodEnd;
  const isWithin = end !== undefined &&
    (end === terms.currentPeriodEnd || end <= (terms.heldUntil ?? terms.since));
  return { terms, beganPeriod: !isWithin };
}

/** Maximum time between a change of price and its invoice, in milliseconds. */
const maxAwayMs = 10 * 60_000;

function isSame(a: SubscriptionTerms, b: SubscriptionTerms): boolean {
  return a.since === b.since && a.heldFrom === b.heldFrom && a.priceId === b.priceId &&
    a.quantity === b.quantity &&
    a.currentPeriodEnd === b.currentPeriodEnd;
}
