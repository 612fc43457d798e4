import type { KeyValue } from "../../kv/key_value.ts";
import type { BillingSubscription } from "../billing_event.ts";
import { billingKeys } from "./billing_keys.ts";
import { addTerms, type SubscriptionTerms, subscriptionTerms } from "./subscription_terms.ts";

/** A state of a subscription, and the event that reported it. */
export interface ReportedSubscription {
  readonly subscription: BillingSubscription;
  /** RFC 3339 in UTC. */
  readonly occurredAt: string;
  /** The id of the delivery. */
  readonly deliveryId: string;
  /** Since when it is for its price and quantity, where the provider says so. */
  readonly itemChangedAt?: string;
  /** True if it is the state that it was created with. */
  readonly isFirst?: boolean;
  /** True if the state was read at the provider, and may be newer than the event. */
  readonly isRead?: boolean;
}

/** The newest state, and what the subscription was for before. */
interface KeptSubscription extends ReportedSubscription {
  /** The oldest first; of records from before it was kept, the newest state alone. */
  readonly terms?: readonly SubscriptionTerms[];
}

/** Reads the state as it is now at the provider; null if that cannot be had. */
export type ReadNow = (id: string) => Promise<BillingSubscription | null>;

/**
 * The newest states of subscriptions by the provider's clock. Events come in any order: one that was
 * created late must not bring back a subscription that was canceled.
 */
export class NewestSubscriptions {
  readonly #provider: string;
  readonly #store: KeyValue;
  readonly #readNow: ReadNow;

  /** Makes no call yet. */
  constructor(provider: string, store: KeyValue, readNow: ReadNow) {
    this.#provider = provider;
    this.#store = store;
    this.#readNow = readNow;
  }

  /** The newest known state; null if none was reported. */
  async find(id: string): Promise<BillingSubscription | null> {
    const { value } = await this.#store.get(billingKeys.subscription(this.#provider, id));
    return asKept(value)?.subscription ?? null;
  }

  /** What it was for, the oldest terms first: a payment is for those of its time. */
  async terms(id: string): Promise<readonly SubscriptionTerms[]> {
    const { value } = await this.#store.get(billingKeys.subscription(this.#provider, id));
    return knownTerms(asKept(value));
  }

  /** Takes a reported state into account; gives the newest one, which may be another. */
  async report(reported: ReportedSubscription): Promise<BillingSubscription> {
    const key = billingKeys.subscription(this.#provider, reported.subscription.id);
    for (;;) {
      const { value, versionstamp } = await this.#store.get(key);
      const known = asKept(value);
      if (known?.deliveryId === reported.deliveryId) return known.subscription;
      const newest = known === null ? reported : await this.#newer(known, reported);
      const before = knownTerms(known);
      const terms = addTerms(before, reportedTerms(reported));
      if (newest === known && terms === before) return newest.subscription;
      const { ok } = await this.#store.commit({
        checks: [{ key, versionstamp }],
        mutations: [{ kind: "set", key, value: { ...newest, terms } satisfies KeptSubscription }],
        claim: key,
      });
      if (ok) return newest.subscription;
    }
  }

  /**
   * Stripe's clock has seconds, in which a subscription may change twice: then the provider is asked.
   * Its answer may be newer than events that are on their way, so that it is asked for these again.
   */
  async #newer(
    known: ReportedSubscription,
    reported: ReportedSubscription,
  ): Promise<ReportedSubscription> {
    if (known.occurredAt > reported.occurredAt) return known;
    if (known.occurredAt < reported.occurredAt && known.isRead !== true) return reported;
    const now = await this.#readNow(reported.subscription.id);
    if (now !== null) return { ...reported, subscription: now, isRead: true };
    return hasEnded(known.subscription) ? known : reported;
  }
}

function reportedTerms(
  { subscription, occurredAt, itemChangedAt, isFirst }: ReportedSubscription,
): SubscriptionTerms {
  if (isFirst === true) {
    return subscriptionTerms(subscription, { since: "", heldUntil: occurredAt });
  }
  const isEarlier = itemChangedAt !== undefined && itemChangedAt < occurredAt;
  const held = isEarlier ? { heldFrom: itemChangedAt } : {};
  return subscriptionTerms(subscription, { since: occurredAt, ...held });
}

function hasEnded({ status }: BillingSubscription): boolean {
  return status === "canceled" || status === "expired";
}

function knownTerms(kept: KeptSubscription | null): readonly SubscriptionTerms[] {
  if (kept === null) return [];
  return kept.terms ?? [subscriptionTerms(kept.subscription, { since: kept.occurredAt })];
}

function asKept(value: unknown): KeptSubscription | null {
  // No other code writes these keys.
  return value === undefined ? null : value as KeptSubscription;
}
