/** The type of a billing event, the same for every provider. */
export type BillingEventType =
  | "checkout.completed"
  | "subscription.created"
  | "subscription.updated"
  | "subscription.canceled"
  | "payment.succeeded"
  | "payment.failed"
  | "unknown";

/** The status of a subscription, the same for every provider. */
export type SubscriptionStatus =
  | "active"
  | "trialing"
  | "past_due"
  | "canceled"
  | "paused"
  | "incomplete"
  | "expired"
  | "unpaid";

/** A subscription, the same for every provider. Times are RFC 3339 in UTC. */
export interface BillingSubscription {
  /** The provider's id of it. */
  readonly id: string;
  /** The provider's id of who pays. */
  readonly customerId: string;
  /** A status that the provider has added since is `incomplete`, never `active`. */
  readonly status: SubscriptionStatus;
  /** The price, by the id that plans have. */
  readonly priceId?: string;
  /** How many of it, where the provider says so. */
  readonly quantity?: number;
  /** When what is paid began. */
  readonly currentPeriodStart?: string;
  /** Until when it is paid; of one that is canceled at the end, when it ends. */
  readonly currentPeriodEnd?: string;
  /** True if it ends with what is paid. */
  readonly cancelAtPeriodEnd?: boolean;
  /** What its checkout set. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** The name of the provider. */
  readonly provider: string;
}

/**
 * Why a payment grants nothing: `zero-amount` bought nothing, as a trial, a coupon of 100 % or a
 * credit note; `proration` pays for a part of a period; `no-plan` has prices without a plan;
 * `no-credits` is of plans without credits; of a `quantity` that is no whole number from 1 on, or too
 * large, nothing can be counted; a change of plan that is `paid-by-credit` was not paid with money;
 * of an `unknown-price` the provider does not say what was bought at that time; `other-event` is
 * granted by another event, as that of its invoice; `no-account` names no account.
 */
export type NotGranted =
  | "zero-amount"
  | "proration"
  | "no-plan"
  | "no-credits"
  | "quantity"
  | "unknown-price"
  | "paid-by-credit"
  | "other-event"
  | "no-account";

/** The payment of a billing event. */
export interface BillingPayment {
  /**
   * The provider's id of what was paid: an invoice, an order, a transaction. All events about one
   * payment have the same, and it is granted once.
   */
  readonly id: string;
  /** In the smallest unit of the currency; absent where the event does not say. */
  readonly amount?: number;
  /** Three letters in lower case. */
  readonly currency?: string;
}

/** A billing event, the same for every provider. */
export interface BillingEvent {
  /** The id of the delivery: repeated deliveries of the same event have the same. */
  readonly id: string;
  /** What happened. */
  readonly type: BillingEventType;
  /** The name of the provider. */
  readonly provider: string;
  /** When it happened, by the provider's clock: RFC 3339 in UTC. */
  readonly occurredAt: string;
  /** The provider's id of who pays. */
  readonly customerId?: string;
  /**
   * True if the customer is that of another account, as of the address that the buyer has entered:
   * this account is not linked to it.
   */
  readonly isCustomerOfOther?: true;
  /** Whose event it is; absent where nothing in it says so. */
  readonly accountId?: string;
  /** The newest known state of the subscription, which may be newer than this event. */
  readonly subscription?: BillingSubscription;
  /** What was paid, or was not. */
  readonly payment?: BillingPayment;
  /** The plan of the price that was paid. */
  readonly planKey?: string;
  /** The credits that the plan gives for this payment. */
  readonly creditsToGrant?: number;
  /** Why a payment that succeeded grants nothing. */
  readonly notGranted?: NotGranted;
  /** What the checkout set, as the provider returns it. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** The event as the provider sent it. */
  readonly raw: unknown;
}
