import type {
  BillingEvent,
  BillingEventType,
  BillingPayment,
  BillingSubscription,
} from "../billing_event.ts";

/** A page of the provider at which a customer pays. */
export interface CheckoutSession {
  /** The provider's id of it. */
  readonly id: string;
  /** Where to send the customer. */
  readonly url: string;
}

/** True if a checkout starts a subscription, false if it is one payment. */
export type CheckoutMode = "subscription" | "payment";

/** A price and how many of it. */
export interface CheckoutItem {
  /** The provider's id of the price: see the provider. */
  readonly priceId: string;
  /** From 1 on. */
  readonly quantity: number;
}

/** A checkout for a provider to create. */
export interface ProviderCheckout {
  /** What it is for. */
  readonly mode: CheckoutMode;
  /** At least one. */
  readonly items: readonly CheckoutItem[];
  /** Where the customer returns to. */
  readonly successUrl: string | undefined;
  /** Where the customer returns to without paying. */
  readonly cancelUrl: string | undefined;
  /** The provider's id of a customer that is known. */
  readonly customerId: string | undefined;
  /** Fills in the form. */
  readonly customerEmail: string | undefined;
  /** The account that the credits are for. */
  readonly accountId: string;
  /** For every slot of the provider that reaches the invoice; it names the account. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The same for repetitions of the same checkout. */
  readonly idempotencyKey: string;
}

/** The usage of a subscription to report. */
export interface UsageReport {
  /** The provider's id of the item of a subscription, or of the subscription. */
  readonly subscriptionItemId: string;
  /** How much. */
  readonly quantity: number;
  /** `increment` adds to what was reported, `set` replaces it, where the provider can. */
  readonly action: "increment" | "set";
  /** The same for repetitions of one report. */
  readonly idempotencyKey: string;
}

/** A delivery of a webhook as it arrived. */
export interface WebhookDelivery {
  /** The raw bytes, which the signature is of. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** With the signature. */
  readonly headers: Headers;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** What was paid for: a price, by each of the ids that a plan may name it by. */
export interface PaidPrice {
  /** At least one. */
  readonly ids: readonly string[];
  /** As the provider says it: one that is no whole number from 1 on is refused later. */
  readonly quantity: number;
  /** What was charged for it after discounts, however it is netAmount; that of the payment unless set. */
  readonly amount?: number;
  /** True if it pays for a part of a period, as after a change. */
  readonly isProration?: boolean;
}

/** A payment as its provider reports it. */
export interface VendorPayment extends BillingPayment {
  /** Empty where the event does not name them: {@link BillingProvider.findPrices} may know them. */
  readonly prices: readonly PaidPrice[];
  /** True if the event has not all of the prices: {@link BillingProvider.findPrices} gives all. */
  readonly hasMorePrices?: boolean;
  /** False where it never pays for a whole period or a purchase, whatever its lines say. */
  readonly isForCredits: boolean;
  /** What was charged after discounts and before any balance of the customer; `amount` unless set. */
  readonly netAmount?: number;
  /** When it was bought, where that is not the time of the event: RFC 3339 in UTC. */
  readonly boughtAt?: string;
  /** True if it is the first payment of its subscription, which names no prices. */
  readonly isFirst?: boolean;
  /** True if it pays for a change of its subscription, which names no prices. */
  readonly isChange?: boolean;
  /** True if it pays for a change of plan, and a balance or credit pays for it, in whole or in part. */
  readonly isPaidByCredit?: boolean;
  /** True if a payment of a plan with periods is reported by an event of its own, and this is none. */
  readonly isOnlyForOneTime: boolean;
}

/** One normalized event, before it is known whose it is and what it grants. */
export interface VendorEvent extends Omit<BillingEvent, "provider" | "payment"> {
  /** What happened. */
  readonly type: BillingEventType;
  /** What was paid, or was not. */
  readonly payment?: VendorPayment;
  /** The provider's id of the subscription that it is about. */
  readonly subscriptionId?: string;
  /** Since when the subscription is for its price and quantity, where the provider says so. */
  readonly itemChangedAt?: string;
  /**
   * True if only a server with a key of the provider can have set its metadata. Of others nothing is
   * believed without the code of a checkout of this service.
   */
  readonly isMetadataOfServer?: boolean;
  /** True if a completed checkout is still to be paid. */
  readonly isUnpaid?: boolean;
}

/** A state of a subscription as it was read at the provider. Times are RFC 3339 in UTC. */
export interface ReadTerms extends Pick<VendorEvent, "itemChangedAt"> {
  /** The state of now. */
  readonly subscription: BillingSubscription;
  /** When it last changed. */
  readonly changedAt?: string;
}

/** The events of one delivery, whose signature was right. */
export interface VendorDelivery {
  /** Repeated deliveries of the same event have the same. */
  readonly id: string;
  /** True if it is about real money; null if the provider does not say. */
  readonly isLive: boolean | null;
  /** At least one: a paid checkout is two. */
  readonly events: readonly VendorEvent[];
}

/**
 * The interface of a billing provider. What a provider does not offer is absent, and the router
 * answers 501 `billing-unsupported`. Operations throw a `billing-failed` Problem where the provider
 * refuses or does not answer.
 */
export interface BillingProvider {
  /** Names it in keys and events, and never changes. */
  readonly name: string;
  /** True if deliveries are verified, by a secret. */
  readonly isSigned: boolean;
  /** True if it is used with real money; null if deliveries do not say. */
  readonly isLive: boolean | null;
  /**
   * True if it finds an existing customer by the address that a buyer enters, which may be that of
   * another person.
   */
  readonly findsCustomerByEmail?: boolean;
  /** Creates a page to pay at. */
  createCheckout(checkout: ProviderCheckout): Promise<CheckoutSession>;
  /** Creates a page at which a customer manages subscriptions. */
  createPortal?(
    customerId: string,
    returnUrl: string | undefined,
  ): Promise<{ readonly url: string }>;
  /** The subscriptions of a customer. */
  listSubscriptions(customerId: string): Promise<readonly BillingSubscription[]>;
  /** One subscription; null for an unknown id. */
  getSubscription(id: string): Promise<BillingSubscription | null>;
  /** Cancels a subscription, at once or at the end of what is paid. */
  cancelSubscription(
    id: string,
    options: { readonly atPeriodEnd: boolean },
  ): Promise<BillingSubscription>;
  /** Changes the price of a subscription. */
  updateSubscription(
    id: string,
    options: { readonly priceId: string },
  ): Promise<BillingSubscription>;
  /** Reports usage. */
  reportUsage?(report: UsageReport): Promise<void>;
  /** Verifies a delivery and reads its events. Throws a 400 where it is not to be believed. */
  readDelivery(delivery: WebhookDelivery): Promise<VendorDelivery>;
  /** Reads the terms of a subscription whose payments do not name their prices; null for an unknown id. */
  readTerms?(subscriptionId: string): Promise<ReadTerms | null>;
  /** Finds the prices of a payment whose event does not name all; none where they are too many. */
  findPrices?(event: VendorEvent): Promise<readonly PaidPrice[]>;
}
