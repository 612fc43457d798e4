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
  /** When what is paid began. */
  readonly currentPeriodStart?: string;
  /** Until when it is paid; of one that is canceled at the end, when it ends. */
  readonly currentPeriodEnd?: string;
  /** Whether it ends with what is paid. */
  readonly cancelAtPeriodEnd?: boolean;
  /** What its checkout set. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** The name of the provider. */
  readonly provider: string;
}

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
  /** What the checkout set, as the provider returns it. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** The event as the provider sent it. */
  readonly raw: unknown;
}
