import type { BillingSubscription } from "../billing_event.ts";
import { compact } from "../providers/json_fields.ts";

/** The price, quantity and period of a subscription, and the time from which they apply. */
export interface SubscriptionTerms
  extends Pick<BillingSubscription, "priceId" | "quantity" | "currentPeriodEnd"> {
  /** The start of the terms in RFC 3339; "" if the subscription was created with them. */
  readonly since: string;
  /** A time before `since` at which the provider says that the same terms applied. */
  readonly heldFrom?: string;
  /** A time after `since` at which the provider says that the terms still applied. */
  readonly heldUntil?: string;
  /** From this time until the next stored terms, terms are unknown, because some were dropped. */
  readonly unknownFrom?: string;
}

/** Returns the terms in a reported state, with the times at which they applied. */
export function termsOfReportedState(
  { priceId, quantity, currentPeriodEnd }: BillingSubscription,
  times: Pick<SubscriptionTerms, "since" | "heldFrom" | "heldUntil">,
): SubscriptionTerms {
  return { ...times, ...compact({ priceId, quantity, currentPeriodEnd }) };
}

/**
 * Adds terms to the history of a subscription, ordered by their start. Events arrive in any order,
 * so outdated terms are added, too. Only the first and the newest 50 terms are kept, with the time
 * from which others may be missing.
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

/** Returns true if the terms at a time or later are known: no change before it is missing. */
export function hasNoGapBefore(history: readonly SubscriptionTerms[], at: string): boolean {
  return history.some(({ since, heldUntil }) => since >= at || (heldUntil ?? since) >= at);
}

/** Returns the terms at a time; undefined if they are unknown or were dropped. */
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

/** Returns the terms after the change of price for which an invoice is; undefined if unknown. */
export function termsAfterChange(history: readonly SubscriptionTerms[], at: string) {
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
  // A renewal moves the end of the period, and a change within the period does not.
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
