/** The type of a billing event, equal for all providers. */
export type BillingEventType =
  | "checkout.completed"
  | "subscription.created"
  | "subscription.updated"
  | "subscription.canceled"
  | "payment.succeeded"
  | "payment.failed"
  | "unknown";

/** The status of a subscription, equal for all providers. */
export type SubscriptionStatus =
  | "active"
  | "trialing"
  | "past_due"
  | "canceled"
  | "paused"
  | "incomplete"
  | "expired"
  | "unpaid";

/** A subscription in a common form of all providers. Times are RFC 3339 in UTC. */
export interface BillingSubscription {
  /** The provider's id of the subscription. */
  readonly id: string;
  /** The provider's id of the customer. */
  readonly customerId: string;
  /** A status that is unknown to this version is `incomplete`, never `active`. */
  readonly status: SubscriptionStatus;
  /** The id of the price, as plans contain it. */
  readonly priceId?: string;
  /** The quantity, if the provider reports it. */
  readonly quantity?: number;
  /** Start of the current paid period. */
  readonly currentPeriodStart?: string;
  /**
   * The end of the current paid period. For a canceled subscription, the end of the subscription.
   */
  readonly currentPeriodEnd?: string;
  /** True if the subscription ends with the current period. */
  readonly cancelAtPeriodEnd?: boolean;
  /** The metadata that the checkout of the subscription set. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** The name of the provider. */
  readonly provider: string;
}

/**
 * Why a payment grants nothing. `zero-amount`: nothing was paid, as for a trial, a coupon of 100 %
 * or a credit note. `proration`: the payment is for a part of a period. `no-plan`: the paid prices
 * have no plan. `no-credits`: the paid plans have no credits. `quantity`: the quantity is not a
 * whole number from 1 on, or too large. `paid-by-credit`: a change of plan was not paid with money.
 * `unknown-price`: the provider does not report what was bought at that time. `other-event`:
 * another event grants the credits, such as that of the invoice. `no-account`: the payment names no
 * account.
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
   * The provider's id of the invoice, order or transaction. All events about one payment have the
   * same id, and the payment is granted once.
   */
  readonly id: string;
  /** Amount in the smallest unit of the currency; absent if the event does not contain it. */
  readonly amount?: number;
  /** Currency as three lower-case letters. */
  readonly currency?: string;
}

/** A billing event in a form that is equal for all providers. */
export interface BillingEvent {
  /** The id of the delivery. Repeated deliveries of one event have the same id. */
  readonly id: string;
  /** The type of the event. */
  readonly type: BillingEventType;
  /** The name of the provider. */
  readonly provider: string;
  /** Time of the event by the provider's clock: RFC 3339 in UTC. */
  readonly occurredAt: string;
  /** The provider's id of the customer. */
  readonly customerId?: string;
  /**
   * True if the customer belongs to another account, for instance because of the entered email
   * address. The customer is then not linked to this account.
   */
  readonly isCustomerOfOther?: true;
  /** The account of the event; absent if the event does not name one. */
  readonly accountId?: string;
  /** The newest known state of the subscription. It may be newer than this event. */
  readonly subscription?: BillingSubscription;
  /** The payment, successful or not. */
  readonly payment?: BillingPayment;
  /** The key of the plan of the paid price. */
  readonly planKey?: string;
  /** Number of credits that the plan grants for this payment. */
  readonly creditsToGrant?: number;
  /** Reason why a successful payment grants nothing. */
  readonly notGranted?: NotGranted;
  /** The metadata that the checkout set, as the provider returns it. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** The event as the provider sent it. */
  readonly raw: unknown;
}
