import type {
  BillingEvent,
  BillingEventType,
  BillingPayment,
  BillingSubscription,
} from "../billing_event.ts";
import { type Described, either, listOf, type Option } from "../../options/option.ts";
import { callback, testedValue, timerMs } from "../../options/option_kinds.ts";

/** A page of the provider on which a customer pays. */
export interface CheckoutSession {
  /** The provider's id of the checkout session. */
  readonly id: string;
  /** URL of the payment page. */
  readonly url: string;
}

/** `subscription` starts a subscription; `payment` is a single payment. */
export type CheckoutMode = "subscription" | "payment";

/** A price to buy, and how many units of it. */
export interface CheckoutItem {
  /** The provider's id of the price. */
  readonly priceId: string;
  /** Number of units: a whole number from 1 on. */
  readonly quantity: number;
}

/** A checkout that the provider has to create. */
export interface ProviderCheckout {
  /** The mode: a subscription or a single payment. */
  readonly mode: CheckoutMode;
  /** The prices to buy. At least one. */
  readonly items: readonly CheckoutItem[];
  /** URL to which the customer returns after paying. */
  readonly successUrl: string | undefined;
  /** URL to which the customer returns without paying. */
  readonly cancelUrl: string | undefined;
  /** The provider's id of an existing customer, if the customer is known. */
  readonly customerId: string | undefined;
  /** Email address that is prefilled in the payment form. */
  readonly customerEmail: string | undefined;
  /** The account that receives the credits of the purchase. */
  readonly accountId: string;
  /** Names the account. Send this metadata in each field that the provider copies to invoices. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Idempotency key. Repetitions of one checkout have the same key. */
  readonly idempotencyKey: string;
}

/** The usage that a provider has to record for a subscription. */
export interface UsageReport {
  /** The provider's id of a subscription item or, for some providers, of the subscription. */
  readonly subscriptionItemId: string;
  /** Number of units that were used. */
  readonly quantity: number;
  /** `increment` adds to the reported usage. `set` replaces it, if the provider supports that. */
  readonly action: "increment" | "set";
  /** Idempotency key. Repetitions of one report have the same key. */
  readonly idempotencyKey: string;
}

/** A webhook request from the provider. */
export interface WebhookDelivery {
  /** The raw bytes of the body, over which the signature is computed. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** The headers of the delivery, including the signature. */
  readonly headers: Headers;
  /** Current time, in milliseconds since 1970. */
  readonly now: number;
}

/** A price that was paid, with all its ids at the provider. A plan can name any of these ids. */
export interface PaidPrice {
  /** The ids of the price at the provider. At least one. */
  readonly ids: readonly string[];
  /** The quantity as the provider reports it. It can be invalid, e.g. a fraction. */
  readonly quantity: number;
  /** Amount after discounts, but before customer credit. Default: the payment's `netAmount`. */
  readonly amount?: number;
  /** True if the price is for a part of a period, for instance after a change of plan. */
  readonly isProration?: boolean;
}

/** A payment as the provider reports it, before its credits are known. */
export interface VendorPayment extends BillingPayment {
  /** The paid prices; empty if {@link BillingProvider.findPrices} must find them. */
  readonly prices: readonly PaidPrice[];
  /** True if the event lacks some prices. {@link BillingProvider.findPrices} returns all prices. */
  readonly hasMorePrices?: boolean;
  /** False if the payment grants no credits: it is no purchase, or pays for a part of a period. */
  readonly isForCredits: boolean;
  /** The amount after discounts, before a customer balance reduces it. Default: `amount`. */
  readonly netAmount?: number;
  /** Time of the purchase in RFC 3339 and UTC. Default: the time of the event. */
  readonly boughtAt?: string;
  /** True for a subscription's first payment. Set only if the provider's events name no prices. */
  readonly isFirst?: boolean;
  /** True if a change of the subscription caused the payment. Set only if events name no prices. */
  readonly isChange?: boolean;
  /** True if a payment for a change of plan was partly paid from a customer balance. */
  readonly isPaidByCredit?: boolean;
  /** True if this event grants credits only for one-time plans, not for subscriptions. */
  readonly isOnlyForOneTime: boolean;
}

/** An event in the common form of all providers, before the service adds account and credits. */
export interface VendorEvent extends Omit<BillingEvent, "provider" | "payment"> {
  /** The type of the event. */
  readonly type: BillingEventType;
  /** The payment that succeeded or failed. */
  readonly payment?: VendorPayment;
  /** The provider's id of the subscription that the event concerns. */
  readonly subscriptionId?: string;
  /** The time of the latest change of price or quantity. Absent if it was not reported. */
  readonly itemChangedAt?: string;
  /**
   * True if only a holder of the provider's secret key can have set the metadata. Any other
   * metadata is trusted only with a valid `checkoutCode`.
   */
  readonly isMetadataOfServer?: boolean;
  /** True if the checkout is complete but not paid yet. */
  readonly isUnpaid?: boolean;
}

/** The state of a subscription, as read from the provider. Times are RFC 3339 in UTC. */
export interface ReadTerms extends Pick<VendorEvent, "itemChangedAt"> {
  /** The current state of the subscription. */
  readonly subscription: BillingSubscription;
  /** When the subscription was last changed. */
  readonly changedAt?: string;
}

/** The events of a webhook request with a valid signature. */
export interface VendorDelivery {
  /** Id of the delivery. Repeated deliveries of one event have the same id. */
  readonly id: string;
  /** True in live mode, false in test mode, or null if the provider does not report the mode. */
  readonly isLive: boolean | null;
  /** The events, at least one. A paid checkout has two: its completion and its payment. */
  readonly events: readonly VendorEvent[];
}

/**
 * A billing provider (payment company). Operations that it does not offer are absent. An operation
 * throws a `billing-failed` Problem if the provider refuses or does not respond.
 */
export interface BillingProvider {
  /** The provider's name in stored keys and events. The name must never change. */
  readonly name: string;
  /** True if a secret for verifying deliveries is configured. */
  readonly isSigned: boolean;
  /** True in live mode, false in test mode, or null if deliveries do not show the mode. */
  readonly isLive: boolean | null;
  /** True if the provider identifies a customer by an unverified email address. */
  readonly findsCustomerByEmail?: boolean;
  /** Creates a page on which a customer pays. */
  createCheckout(checkout: ProviderCheckout): Promise<CheckoutSession>;
  /** Creates a page on which a customer manages subscriptions. Absent if unsupported. */
  createPortal?(
    customerId: string,
    returnUrl: string | undefined,
  ): Promise<{ readonly url: string }>;
  /** Returns the subscriptions of a customer. */
  listSubscriptions(customerId: string): Promise<readonly BillingSubscription[]>;
  /** Returns a subscription by its id, or null if the id is unknown. */
  getSubscription(id: string): Promise<BillingSubscription | null>;
  /** Cancels a subscription, immediately or at the end of the paid period. */
  cancelSubscription(
    id: string,
    options: { readonly atPeriodEnd: boolean },
  ): Promise<BillingSubscription>;
  /** Changes a subscription to another price. */
  updateSubscription(
    id: string,
    options: { readonly priceId: string },
  ): Promise<BillingSubscription>;
  /** Reports the usage of a subscription. Absent if unsupported. */
  reportUsage?(report: UsageReport): Promise<void>;
  /** Verifies a webhook request and returns its events. Throws a 400 for an invalid signature. */
  readDelivery(delivery: WebhookDelivery): Promise<VendorDelivery>;
  /** Returns the current state of a subscription whose invoices name no prices; null if unknown. */
  readTerms?(subscriptionId: string): Promise<ReadTerms | null>;
  /** Returns all prices of a payment whose event lacks prices; empty if there are too many. */
  findPrices?(event: VendorEvent): Promise<readonly PaidPrice[]>;
}

/** The options that all billing providers have. */
export interface ProviderOptions {
  /** The secret that verifies webhooks; a list during a rotation. Required in production. */
  readonly webhookSecret?: string | readonly string[] | undefined;
  /** Maximum difference between a delivery's time and the current time, in ms. Default: 300,000. */
  readonly toleranceMs?: number | undefined;
  /** A base URL of the provider's API in place of the usual one, for instance for tests. */
  readonly baseUrl?: string | undefined;
  /** Function that sends API calls. Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** Timeout of one API call, in milliseconds. Default: 10,000. */
  readonly timeoutMs?: number | undefined;
}

export const providerOptionRules = {
  webhookSecret: either(keyOption(), listOf("secrets", keyOption())),
  toleranceMs: timerMs().default(300_000),
  baseUrl: testedValue<string>(
    "a URL without a slash at its end",
    (given) => typeof given === "string" && /^https?:\/\/[^\s?#]+[^\s?#/]$/.test(given),
  ),
  fetch: callback<typeof fetch>(),
  timeoutMs: timerMs().default(10_000),
} satisfies Described<ProviderOptions>;

/** Defines an option for a secret. Rejects spaces and line breaks as errors of copying. */
export function keyOption(): Option<string | undefined> {
  return testedValue<string>(
    "a string as the provider gave it, without spaces",
    (given) => typeof given === "string" && /^[\x21-\x7e]{1,500}$/.test(given),
  );
}

export function secretsOf(given: string | readonly string[] | undefined): readonly string[] {
  return given === undefined ? [] : [given].flat();
}
