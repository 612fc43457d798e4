import type {
  BillingEvent,
  BillingEventType,
  BillingPayment,
  BillingSubscription,
} from "../billing_event.ts";

/** A payment page of the provider. */
export interface CheckoutSession {
  /** The provider's id of the session. */
  readonly id: string;
  /** URL of the page. */
  readonly url: string;
}

/** `subscription` starts a subscription; `payment` is a single payment. */
export type CheckoutMode = "subscription" | "payment";

/** A price and its quantity. */
export interface CheckoutItem {
  /** The provider's id of the price; see the provider. */
  readonly priceId: string;
  /** A positive whole number. */
  readonly quantity: number;
}

/** A checkout for a provider to create. */
export interface ProviderCheckout {
  /** The mode of the checkout. */
  readonly mode: CheckoutMode;
  /** At least one element. */
  readonly items: readonly CheckoutItem[];
  /** URL to which the customer returns after paying. */
  readonly successUrl: string | undefined;
  /** URL to which the customer returns without paying. */
  readonly cancelUrl: string | undefined;
  /** The provider's id of an existing customer. */
  readonly customerId: string | undefined;
  /** Email address to prefill in the form. */
  readonly customerEmail: string | undefined;
  /** The account that receives the credits. */
  readonly accountId: string;
  /** Metadata for every place that the provider copies to the invoice. It names the account. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Key that is equal for repetitions of the same checkout. */
  readonly idempotencyKey: string;
}

/** The usage of a subscription to report. */
export interface UsageReport {
  /** The provider's id of a subscription item, or of the subscription. */
  readonly subscriptionItemId: string;
  /** The reported quantity. */
  readonly quantity: number;
  /** `increment` adds to the reported usage. `set` replaces it, if the provider supports that. */
  readonly action: "increment" | "set";
  /** Key that is equal for repetitions of one report. */
  readonly idempotencyKey: string;
}

/** A received webhook delivery. */
export interface WebhookDelivery {
  /** The raw bytes, which the signature covers. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** The headers, including the signature. */
  readonly headers: Headers;
  /** Time in milliseconds since 1970. */
  readonly now: number;
}

/** A paid price, with all ids by which a plan may identify it. */
export interface PaidPrice {
  /** At least one element. */
  readonly ids: readonly string[];
  /**
   * The quantity from the provider. A value that is not a positive whole number is refused later.
   */
  readonly quantity: number;
  /** The charged amount after discounts. Default: the amount of the payment. */
  readonly amount?: number;
  /** True if the price is for a part of a period, for instance after a change. */
  readonly isProration?: boolean;
}

/** A payment as its provider reports it. */
export interface VendorPayment extends BillingPayment {
  /** Paid prices; empty if the event names none: {@link BillingProvider.findPrices} may do so. */
  readonly prices: readonly PaidPrice[];
  /** True if the event lacks some prices: {@link BillingProvider.findPrices} returns all. */
  readonly hasMorePrices?: boolean;
  /** False if the payment is never for a whole period or a purchase, whatever its lines contain. */
  readonly isForCredits: boolean;
  /**
   * The charged amount after discounts and before the use of a customer balance. Default: `amount`.
   */
  readonly netAmount?: number;
  /** Time of the purchase, if it is not the time of the event: RFC 3339 in UTC. */
  readonly boughtAt?: string;
  /** True for the first payment of a subscription that names no prices. */
  readonly isFirst?: boolean;
  /** True for a payment for a change of a subscription that names no prices. */
  readonly isChange?: boolean;
  /**
   * True if the payment is for a change of plan and partly or wholly paid by a balance or credit.
   */
  readonly isPaidByCredit?: boolean;
  /** True if a separate event reports payments of periodic plans, and this is another event. */
  readonly isOnlyForOneTime: boolean;
}

/** One normalized event, before its account and its credits are known. */
export interface VendorEvent extends Omit<BillingEvent, "provider" | "payment"> {
  /** The type of the event. */
  readonly type: BillingEventType;
  /** The payment, successful or not. */
  readonly payment?: VendorPayment;
  /** The provider's id of the event's subscription. */
  readonly subscriptionId?: string;
  /**
   * The time since which the subscription has its price and quantity, if the provider reports this.
   */
  readonly itemChangedAt?: string;
  /**
   * True if only a server with a key of the provider can have set the metadata. Other metadata is
   * trusted only with the code of a checkout of this service.
   */
  readonly isMetadataOfServer?: boolean;
  /** True if a completed checkout has not been paid yet. */
  readonly isUnpaid?: boolean;
}

/** The state of a subscription, as it was read at the provider. Times are RFC 3339 in UTC. */
export interface ReadTerms extends Pick<VendorEvent, "itemChangedAt"> {
  /** The current state. */
  readonly subscription: BillingSubscription;
  /** The time of the subscription's last change. */
  readonly changedAt?: string;
}

/** The events of one delivery whose signature is valid. */
export interface VendorDelivery {
  /** Id that is equal for repeated deliveries of one event. */
  readonly id: string;
  /** True if real money was used; null if the provider does not report it. */
  readonly isLive: boolean | null;
  /** At least one event; a paid checkout has two. */
  readonly events: readonly VendorEvent[];
}

/**
 * The interface of a billing provider. Operations that a provider does not offer are absent, and
 * the router responds with 501 `billing-unsupported`. Operations throw a `billing-failed` Problem
 * if the provider refuses or does not respond.
 */
export interface BillingProvider {
  /** The name of the provider in keys and events. The name must never change. */
  readonly name: string;
  /** True if deliveries are verified by a secret. */
  readonly isSigned: boolean;
  /** True if the provider uses real money; null if deliveries do not show that. */
  readonly isLive: boolean | null;
  /**
   * True if the provider finds an existing customer by the email address that a buyer enters, which
   * may belong to another person.
   */
  readonly findsCustomerByEmail?: boolean;
  /** Creates a payment page. */
  createCheckout(checkout: ProviderCheckout): Promise<CheckoutSession>;
  /** Creates a page on which a customer manages subscriptions. */
  createPortal?(
    customerId: string,
    returnUrl: string | undefined,
  ): Promise<{ readonly url: string }>;
  /** Returns the subscriptions of a customer. */
  listSubscriptions(customerId: string): Promise<readonly BillingSubscription[]>;
  /** Returns one subscription; null for an unknown id. */
  getSubscription(id: string): Promise<BillingSubscription | null>;
  /** Cancels a subscription, immediately or at the end of the paid period. */
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
  /** Verifies a delivery and reads its events. Throws a 400 if it is not authentic. */
  readDelivery(delivery: WebhookDelivery): Promise<VendorDelivery>;
  /**
   * Returns the terms of a subscription whose payments name no prices, or null for an unknown id.
   */
  readTerms?(subscriptionId: string): Promise<ReadTerms | null>;
  /** Returns all prices of a payment whose event names only some, or none for too many prices. */
  findPrices?(event: VendorEvent): Promise<readonly PaidPrice[]>;
}
