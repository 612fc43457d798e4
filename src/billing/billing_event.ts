/** The type of a billing event. The types are the same for all providers. */
export type BillingEventType =
  | "checkout.completed"
  | "subscription.created"
  | "subscription.updated"
  | "subscription.canceled"
  | "payment.succeeded"
  | "payment.failed"
  | "unknown";

/** The status of a subscription. The statuses are the same for all providers. */
export type SubscriptionStatus =
  | "active"
  | "trialing"
  | "past_due"
  | "canceled"
  | "paused"
  | "incomplete"
  | "expired"
  | "unpaid";

/** A subscription in the same form for all providers. Times are RFC 3339 in UTC. */
export interface BillingSubscription {
  /** The provider's id of the subscription. */
  readonly id: string;
  /** The provider's id of the customer who pays. */
  readonly customerId: string;
  /** The status. A status that the service does not know becomes `incomplete`, never `active`. */
  readonly status: SubscriptionStatus;
  /** The provider's id of the subscribed price, which identifies the plan. */
  readonly priceId?: string;
  /** Number of subscribed units, if the provider reports it. */
  readonly quantity?: number;
  /** Start of the current paid period, if the provider reports it. */
  readonly currentPeriodStart?: string;
  /** End of the current paid period. For a canceled subscription, the time at which access ends. */
  readonly currentPeriodEnd?: string;
  /** True if the subscription ends with the current period and does not renew. */
  readonly cancelAtPeriodEnd?: boolean;
  /** Metadata from the checkout that created the subscription. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** The name of the provider, such as `stripe`. */
  readonly provider: string;
}

/**
 * The reason why a payment grants no credits. `zero-amount`: nothing was paid, as for a trial, a
 * coupon of 100 % or a credit note. `proration`: the customer paid for a part of a period.
 * `no-plan`: the paid prices belong to no plan. `no-credits`: the paid plans have no credits.
 * `quantity`: the quantity is not a whole number from 1 on, or too large. `paid-by-credit`: credit,
 * not money, paid at least a part of a change of plan. `unknown-price`: the provider does not
 * report which prices were paid. `other-event`: another event, such as the invoice event, grants
 * the credits. `no-account`: the payment names no account.
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

/** The payment that an event reports. */
export interface BillingPayment {
  /** The provider's id of the invoice, order or transaction. Events of one payment share the id. */
  readonly id: string;
  /** Amount in the smallest unit of the currency; absent if the event does not contain it. */
  readonly amount?: number;
  /** Currency as three lower-case letters. */
  readonly currency?: string;
}

/** A billing event in the same form for all providers. */
export interface BillingEvent {
  /** Id of the webhook delivery. Repeated deliveries of one event have the same id. */
  readonly id: string;
  /** The type of the event. */
  readonly type: BillingEventType;
  /** The name of the provider. */
  readonly provider: string;
  /** Time of the event by the provider's clock, in RFC 3339 and UTC. */
  readonly occurredAt: string;
  /** The provider's id of the customer. */
  readonly customerId?: string;
  /** True if another account owns the customer. The event then does not change that account. */
  readonly isCustomerOfOther?: true;
  /** The account that the event concerns. Absent if the event names no account. */
  readonly accountId?: string;
  /** The newest known state of the subscription. This state can be newer than the event. */
  readonly subscription?: BillingSubscription;
  /** The payment that succeeded or failed. */
  readonly payment?: BillingPayment;
  /** The key of the plan to which the paid price belongs. */
  readonly planKey?: string;
  /** Number of credits that the plan grants for this payment. */
  readonly creditsToGrant?: number;
  /** The reason why a successful payment grants no credits. */
  readonly notGranted?: NotGranted;
  /** Metadata from the checkout, as the provider returns it. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** The event exactly as the provider sent it. */
  readonly raw: unknown;
}
