import type { BillingSubscription } from "../billing_event.ts";
import { compact } from "../providers/json_fields.ts";

/** The price, quantity and period that a subscription has from a time on. */
export interface SubscriptionTerms
  extends Pick<BillingSubscription, "priceId" | "quantity" | "currentPeriodEnd"> {
  /** Start of the terms in RFC 3339, or an empty string for the creation of the subscription. */
  readonly since: string;
  /** An earlier start of the same price and quantity, if the provider has reported one. */
  readonly heldFrom?: string;
  /** A later time at which the terms still applied, if the provider has reported one. */
  readonly heldUntil?: string;
  /** From this time until the next stored terms, the terms are unknown: some were dropped. */
  readonly unknownFrom?: string;
}

/** The terms at a time, and whether a new period began at that time. */
export interface TermsAtTime {
  readonly terms: SubscriptionTerms;
  readonly beganPeriod: boolean;
}

/** Returns the terms in a reported state, starting at the given time. */
export function subscriptionTerms(
  { priceId, quantity, currentPeriodEnd }: BillingSubscription,
  times: Pick<SubscriptionTerms, "since" | "heldFrom" | "heldUntil">,
): SubscriptionTerms {
  return { ...times, ...compact({ priceId, quantity, currentPeriodEnd }) };
}

/**
 * Adds terms to a history in the order of their start. Events arrive in any order, so terms that
 * are already outdated are added too. The history contains the first terms, the newest 50, and the
 * time from which terms may be missing.
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

/** Returns true if the history before a time has no gap in which the terms could have changed. */
export function hasNoGapBefore(history: readonly SubscriptionTerms[], at: string): boolean {
  return history.some(({ since, heldUntil }) => since >= at || (heldUntil ?? since) >= at);
}

/** Returns the terms at a time, or undefined if they are unknown or were dropped. */
export function termsAt(
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

/** Returns the terms after the change of price that an invoice is for, or undefined if unknown. */
export function termsAfterChange(
  history: readonly SubscriptionTerms[],
  at: string,
): TermsAtTime | undefined {
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
  // The end of the period moves at a renewal, and is unchanged at a change within the period.
  const end = before.currentPeriodEnd;
  const isWithin = end !== undefined &&
    (end === terms.currentPeriodEnd || end <= (terms.heldUntil ?? terms.since));
  return { terms, beganPeriod: !isWithin };
}

/** Maximum time between a change and its invoice, in milliseconds. */
const maxAwayMs = 10 * 60_000;

function isSame(a: SubscriptionTerms, b: SubscriptionTerms): boolean {
  return a.since === b.since && a.heldFrom === b.heldFrom && a.priceId === b.priceId &&
    a.quantity === b.quantity &&
    a.currentPeriodEnd === b.currentPeriodEnd;
}
