import { type Delivery, ours as coded, type VendorName } from "./signing.ts";

/** The events of one payment, in the order in which a vendor sends them. */
export interface PaymentSequence {
  readonly name: string;
  readonly vendor: VendorName;
  readonly deliveries: readonly Delivery[];
  /** The account and the credits that it grants, once. */
  readonly account: string;
  readonly credits: number;
}

const created = 1_790_000_000;

function stripeEvent(id: string, type: string, object: object, at = created): Delivery {
  return {
    body: {
      ...{ id, object: "event", type, created: at, livemode: false, api_version: "x" },
      data: { object },
    },
  };
}

const ours = { accountId: "ada", planKey: "pro", prices: "price_pro*1" };
const oursOnce = { accountId: "ada", planKey: "pack", prices: "price_pack*1" };

const subscription = {
  id: "sub_1",
  object: "subscription",
  customer: "cus_1",
  status: "active",
  metadata: ours,
  cancel_at_period_end: false,
  items: {
    data: [{
      price: { id: "price_pro" },
      current_period_start: created,
      current_period_end: created + 2_592_000,
    }],
  },
};

const invoice = {
  id: "in_1",
  object: "invoice",
  customer: "cus_1",
  amount_paid: 2000,
  currency: "usd",
  billing_reason: "subscription_create",
  metadata: {},
  parent: { subscription_details: { subscription: "sub_1", metadata: ours } },
  lines: {
    data: [{ quantity: 1, metadata: ours, pricing: { price_details: { price: "price_pro" } } }],
  },
};

/** As API versions of 2020 have it: ids in other places, metadata in the lines alone. */
const oldInvoice = {
  id: "in_old",
  object: "invoice",
  customer: "cus_1",
  subscription: "sub_1",
  amount_paid: 2000,
  currency: "usd",
  billing_reason: "subscription_cycle",
  metadata: {},
  lines: { data: [{ quantity: 1, metadata: ours, price: { id: "price_pro" }, proration: false }] },
};

const session = {
  id: "cs_1",
  object: "checkout.session",
  customer: "cus_1",
  client_reference_id: "ada",
  currency: "usd",
};

const order = {
  store_id: 1,
  customer_id: 77,
  status: "paid",
  currency: "USD",
  total: 2000,
  updated_at: "2026-11-01T10:00:00.000000Z",
  test_mode: true,
};

function lemonEvent(name: string, type: string, id: string, attributes: object): Delivery {
  return {
    body: {
      meta: {
        event_name: name,
        test_mode: true,
        custom_data: coded("lemon-squeezy", { prices: "901*1" }),
      },
      data: { type, id, attributes },
    },
  };
}

function paddleEvent(id: string, type: string, data: object): Delivery {
  return {
    body: { event_id: id, event_type: type, occurred_at: "2026-11-01T10:00:00.123456Z", data },
  };
}

const transaction = {
  id: "txn_1",
  status: "completed",
  customer_id: "ctm_1",
  subscription_id: "sub_1",
  origin: "api",
  currency_code: "USD",
  custom_data: coded("paddle"),
  items: [{ quantity: 1, price: { id: "price_pro" } }],
  details: { totals: { grand_total: "2000" } },
};

const paddleSubscription = {
  id: "sub_1",
  status: "active",
  customer_id: "ctm_1",
  custom_data: coded("paddle"),
  items: [{ quantity: 1, price: { id: "price_pro" } }],
  current_billing_period: { starts_at: "2026-11-01T10:00:00Z", ends_at: "2026-12-01T10:00:00Z" },
};

function polarEvent(id: string, type: string, data: object): Delivery {
  return { id, body: { type, timestamp: "2026-11-01T10:00:00Z", data } };
}

const polarOrder = {
  id: "order-1",
  customer_id: "customer-1",
  product_id: "price_pro",
  subscription_id: "sub-1",
  billing_reason: "subscription_create",
  total_amount: 2000,
  currency: "usd",
  metadata: { accountId: "ada" },
};

const polarSubscription = {
  id: "sub-1",
  customer_id: "customer-1",
  product_id: "price_pro",
  status: "active",
  metadata: { accountId: "ada" },
};

/** One payment of each vendor and kind, by the vendors' documented shapes. */
export const sequences: readonly PaymentSequence[] = [
  {
    name: "Stripe, a new subscription",
    vendor: "stripe",
    account: "ada",
    credits: 100,
    deliveries: [
      stripeEvent("evt_1", "customer.subscription.created", subscription),
      stripeEvent("evt_2", "payment_intent.succeeded", {
        ...{ id: "pi_1", amount_received: 2000, currency: "usd", customer: "cus_1", metadata: {} },
      }),
      stripeEvent("evt_3", "invoice.paid", invoice),
      stripeEvent("evt_4", "invoice.payment_succeeded", invoice),
      stripeEvent("evt_5", "checkout.session.completed", {
        ...session,
        ...{ mode: "subscription", payment_status: "paid", subscription: "sub_1", invoice: "in_1" },
        metadata: ours,
      }),
    ],
  },
  {
    name: "Stripe, a renewal in the shape of 2020",
    vendor: "stripe",
    account: "ada",
    credits: 100,
    deliveries: [
      stripeEvent("evt_1", "invoice.payment_succeeded", oldInvoice),
      stripeEvent("evt_2", "invoice.paid", oldInvoice),
      stripeEvent("evt_3", "payment_intent.succeeded", {
        ...{ id: "pi_1", invoice: "in_old", amount_received: 2000, metadata: ours },
      }),
    ],
  },
  {
    name: "Stripe, one payment",
    vendor: "stripe",
    account: "ada",
    credits: 50,
    deliveries: [
      stripeEvent("evt_1", "payment_intent.succeeded", {
        ...{ id: "pi_1", amount_received: 500, currency: "usd", metadata: oursOnce },
      }),
      stripeEvent("evt_2", "checkout.session.completed", {
        ...session,
        ...{ mode: "payment", payment_status: "paid", payment_intent: "pi_1", amount_total: 500 },
        metadata: oursOnce,
      }),
    ],
  },
  {
    name: "Stripe, one payment that arrives later",
    vendor: "stripe",
    account: "ada",
    credits: 50,
    deliveries: [
      stripeEvent("evt_1", "checkout.session.completed", {
        ...session,
        ...{ mode: "payment", payment_status: "unpaid", payment_intent: "pi_1", amount_total: 500 },
        metadata: oursOnce,
      }),
      stripeEvent("evt_2", "checkout.session.async_payment_succeeded", {
        ...session,
        ...{ mode: "payment", payment_status: "paid", payment_intent: "pi_1", amount_total: 500 },
        metadata: oursOnce,
      }),
    ],
  },
  {
    name: "Lemon Squeezy, a new subscription",
    vendor: "lemon-squeezy",
    account: "ada",
    credits: 100,
    deliveries: [
      lemonEvent("order_created", "orders", "11", {
        ...order,
        first_order_item: { variant_id: 901, quantity: 1 },
      }),
      lemonEvent("subscription_created", "subscriptions", "21", {
        ...{ customer_id: 77, variant_id: 901, status: "active", cancelled: false },
        ...{ renews_at: "2026-12-01T10:00:00.000000Z", updated_at: order.updated_at },
      }),
      lemonEvent("subscription_payment_success", "subscription-invoices", "31", {
        ...{ subscription_id: 21, customer_id: 77, billing_reason: "initial", total: 2000 },
        ...{ currency: "USD", updated_at: order.updated_at },
      }),
    ],
  },
  {
    name: "Lemon Squeezy, one payment",
    vendor: "lemon-squeezy",
    account: "ada",
    credits: 50,
    deliveries: [
      lemonEvent("order_created", "orders", "12", {
        ...order,
        first_order_item: { variant_id: 902, quantity: 1 },
      }),
    ],
  },
  {
    name: "Paddle, a new subscription",
    vendor: "paddle",
    account: "ada",
    credits: 100,
    deliveries: [
      paddleEvent("evt_1", "transaction.created", transaction),
      paddleEvent("evt_2", "transaction.paid", { ...transaction, status: "paid" }),
      paddleEvent("evt_3", "subscription.created", paddleSubscription),
      paddleEvent("evt_4", "subscription.activated", paddleSubscription),
      paddleEvent("evt_5", "transaction.completed", transaction),
    ],
  },
  {
    name: "Polar, a new subscription",
    vendor: "polar",
    account: "ada",
    credits: 100,
    deliveries: [
      polarEvent("msg_1", "order.created", { ...polarOrder, status: "pending" }),
      polarEvent("msg_2", "subscription.created", polarSubscription),
      polarEvent("msg_3", "order.updated", { ...polarOrder, status: "paid" }),
      polarEvent("msg_4", "order.paid", { ...polarOrder, status: "paid" }),
      polarEvent("msg_5", "subscription.active", polarSubscription),
      polarEvent("msg_6", "checkout.updated", {
        ...{ id: "checkout-1", status: "succeeded", customer_id: "customer-1" },
        metadata: { accountId: "ada" },
      }),
    ],
  },
];
