import type { KeyValue } from "../../kv/key_value.ts";
import type { BillingSubscription } from "../billing_event.ts";
import { billingKeys } from "./billing_keys.ts";
import { addTerms, type SubscriptionTerms, termsOfReportedState } from "./paid_credits.ts";
import type { BillingProvider } from "../providers/billing_provider.ts";

interface ReportedSubscription {
  readonly subscription: BillingSubscription;
  readonly occurredAt: string;
  readonly deliveryId: string;
  readonly itemChangedAt?: string;
  readonly isFirst?: boolean;
  /** True if the service fetched the state from the provider. It can be newer than the event. */
  readonly isRead?: boolean;
}

interface KeptSubscription extends ReportedSubscription {
  readonly terms: readonly SubscriptionTerms[];
}

/** Reads a subscription's current state. Returns null if the provider does not respond. */
export type ReadSubscription = (id: string) => Promise<BillingSubscription | null>;

/** Keeps the newest state of each subscription, because events can arrive in any order. */
export class NewestSubscriptions {
  readonly #provider: string;
  readonly #store: KeyValue;
  readonly #readNow: ReadSubscription;

  constructor(provider: string, store: KeyValue, readNow: ReadSubscription) {
    this.#provider = provider;
    this.#store = store;
    this.#readNow = readNow;
  }

  async find(id: string): Promise<BillingSubscription | null> {
    const { value } = await this.#store.get(billingKeys.subscription(this.#provider, id));
    return asKept(value)?.subscription ?? null;
  }

  async terms(id: string): Promise<readonly SubscriptionTerms[]> {
    const { value } = await this.#store.get(billingKeys.subscription(this.#provider, id));
    return asKept(value)?.terms ?? [];
  }

  async report(reported: ReportedSubscription): Promise<BillingSubscription> {
    const key = billingKeys.subscription(this.#provider, reported.subscription.id);
    for (;;) {
      const { value, versionstamp } = await this.#store.get(key);
      const known = asKept(value);
      if (known?.deliveryId === reported.deliveryId) return known.subscription;
      const newest = known === null ? reported : await this.#newer(known, reported);
      const before = known?.terms ?? [];
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
   * Returns the newer of two states. Asks the provider for the current state if their times are
   * equal (Stripe's have whole seconds), or if the known state was fetched, so that its time is
   * unknown.
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
    return termsOfReportedState(subscription, { since: "", heldUntil: occurredAt });
  }
  const isEarlier = itemChangedAt !== undefined && itemChangedAt < occurredAt;
  const held = isEarlier ? { heldFrom: itemChangedAt } : {};
  return termsOfReportedState(subscription, { since: occurredAt, ...held });
}

function hasEnded({ status }: BillingSubscription): boolean {
  return status === "canceled" || status === "expired";
}

function asKept(value: unknown): KeptSubscription | null {
  // The cast is safe, because only `report` writes subscriptions to the store.
  return value === undefined ? null : value as KeptSubscription;
}

/** Stores which customer pays for which account, because renewals may name only the customer. */
export class AccountLinks {
  readonly #provider: string;
  readonly #isShared: boolean;
  readonly #store: KeyValue;

  constructor(
    { name, findsCustomerByEmail = false }: Pick<BillingProvider, "name" | "findsCustomerByEmail">,
    store: KeyValue,
  ) {
    this.#provider = name;
    this.#isShared = findsCustomerByEmail;
    this.#store = store;
  }

  async accountOf(customerId: string): Promise<string | undefined> {
    return textOf(await this.#store.get(billingKeys.accountOf(this.#provider, customerId)));
  }

  async customerOf(accountId: string): Promise<string | undefined> {
    const customer = textOf(
      await this.#store.get(billingKeys.customerOf(this.#provider, accountId)),
    );
    if (customer === undefined || !this.#isShared) return customer;
    // The customer may now belong to another account, so the customer's account is read, too.
    return await this.accountOf(customer) === accountId ? customer : undefined;
  }

  /**
   * Assigns a customer to an account. If the provider identifies customers by an unverified email
   * address, returns false for the customer of another account, unless the deployer's code asks.
   */
  async remember(accountId: string, customerId: string, isOfDeployer: boolean): Promise<boolean> {
    const keys = [
      billingKeys.accountOf(this.#provider, customerId),
      billingKeys.customerOf(this.#provider, accountId),
    ];
    for (;;) {
      const entries = await this.#store.getMany(keys);
      const [account, customer] = entries.map(textOf);
      if (account === accountId && customer === customerId) return true;
      const isOfAnother = account !== undefined && account !== accountId;
      if (this.#isShared && isOfAnother && !isOfDeployer) return false;
      const { ok } = await this.#store.commit({
        checks: entries.map(({ versionstamp }, index) => ({
          key: keys[index] ?? [],
          versionstamp,
        })),
        mutations: [accountId, customerId].map((value, index) =>
          ({ kind: "set", key: keys[index] ?? [], value }) as const
        ),
      });
      if (ok) return true;
    }
  }
}

function textOf({ value }: { readonly value: unknown }): string | undefined {
  return typeof value === "string" ? value : undefined;
}
