import type { BillingSubscription } from "../billing_event.ts";
import { present } from "../providers/json_fields.ts";

/** What a subscription was for, from a time on. */
export interface SubscriptionTerms
  extends Pick<BillingSubscription, "priceId" | "quantity" | "currentPeriodEnd"> {
  /** RFC 3339 in UTC; empty for those that it was created with. */
  readonly since: string;
  /** From when on later terms were dropped: what it was for until the next ones is not known. */
  readonly unknownFrom?: string;
}

/** The terms in force at a time, and whether they began a new period then. */
export interface TermsInForce {
  readonly terms: SubscriptionTerms;
  readonly beganPeriod: boolean;
}

/** The terms of a reported state. */
export function subscriptionTerms(
  { priceId, quantity, currentPeriodEnd }: BillingSubscription,
  since: string,
): SubscriptionTerms {
  return { since, ...present({ priceId, quantity, currentPeriodEnd }) };
}

/**
 * Adds terms at their time: events come in any order, so that also those are kept that change nothing
 * now. The newest 50 are kept, and the first, with the time from which it is not known to hold.
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
  return [{ ...first, ...present({ unknownFrom }) }, ...others.slice(-50)];
}

/** The terms at a time; undefined if none are known, or they were dropped. */
export function termsAt(
  history: readonly SubscriptionTerms[],
  at: string,
): SubscriptionTerms | undefined {
  const terms = history.findLast(({ since }) => since <= at);
  const isDropped = terms?.unknownFrom !== undefined && terms.unknownFrom <= at;
  return isDropped ? undefined : terms;
}

/** The change of the price that an invoice of a time pays for; undefined if none is known. */
export function changeAt(
  history: readonly SubscriptionTerms[],
  at: string,
): TermsInForce | undefined {
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
  // A change within a period leaves its end where it was.
  const isWithin = before.currentPeriodEnd !== undefined &&
    before.currentPeriodEnd === terms.currentPeriodEnd;
  return { terms, beganPeriod: !isWithin };
}

/** Between a change and its invoice. */
const maxAwayMs = 10 * 60_000;

function isSame(a: SubscriptionTerms, b: SubscriptionTerms): boolean {
  return a.since === b.since && a.priceId === b.priceId && a.quantity === b.quantity &&
    a.currentPeriodEnd === b.currentPeriodEnd;
}
