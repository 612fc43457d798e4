import { createHash } from "node:crypto";
import type { BillingSubscription } from "../../billing_event.ts";
import type { VendorDelivery, VendorEvent, VendorPayment } from "../billing_provider.ts";
import {
  compact,
  isMostlyCredit,
  type JsonFields,
  statusOf,
  subscriptionFacts,
  utcOf,
} from "../json_fields.ts";
import { unreadableDelivery } from "../webhook_signature.ts";

export const lemonSqueezyName = "lemon-squeezy";

/** Reads an event. Its id is a hash of its name, object and time, because events have no id. */
export function readLemonSqueezyEvent(body: JsonFields): VendorDelivery {
  const [meta, data] = [body.at("meta"), body.at("data")];
  const attributes = data.at("attributes");
  const [name, objectType, objectId] = [meta.text("event_name"), data.text("type"), data.id("id")];
  if (name === undefined || objectType === undefined || objectId === undefined) {
    throw unreadableDelivery();
  }
  const changedAt = attributes.text("updated_at") ?? attributes.text("created_at");
  const occurredAt = utcOf(changedAt);
  if (changedAt === undefined || occurredAt === undefined) throw unreadableDelivery();
  const id = createHash("sha256")
    .update(JSON.stringify([name, objectType, objectId, changedAt])).digest("base64url");
  const base = {
    id,
    occurredAt,
    raw: body.value,
    metadata: meta.texts("custom_data"),
    ...compact({ customerId: attributes.id("customer_id") }),
  };
  const isTest = meta.flag("test_mode") ?? attributes.flag("test_mode");
  return {
    id,
    isLive: isTest === undefined ? null : !isTest,
    events: eventsOf(name, { id: objectId, data, attributes }, base),
  };
}

interface EventObject {
  readonly id: string;
  readonly data: JsonFields;
  readonly attributes: JsonFields;
}

function eventsOf(
  name: string,
  object: EventObject,
  base: Omit<VendorEvent, "type">,
): readonly VendorEvent[] {
  switch (name) {
    case "order_created": {
      const completed = { ...base, type: "checkout.completed" as const };
      if (object.attributes.text("status") !== "paid") return [{ ...completed, isUnpaid: true }];
      const payment = orderPayment(object);
      return [completed, { ...completed, type: "payment.succeeded", payment }];
    }
    case "subscription_payment_success":
    case "subscription_payment_recovered":
      return [{ ...base, type: "payment.succeeded", ...invoiceFacts(object) }];
    case "subscription_payment_failed":
      return [{ ...base, type: "payment.failed", ...invoiceFacts(object) }];
    case "subscription_created":
      return [{ ...base, type: "subscription.created", ...termsFacts(object) }];
    case "subscription_cancelled":
    case "subscription_expired":
      return [{ ...base, type: "subscription.canceled", ...termsFacts(object) }];
    case "subscription_updated":
    case "subscription_resumed":
    case "subscription_paused":
    case "subscription_unpaused":
      return [{ ...base, type: "subscription.updated", ...termsFacts(object) }];
    default:
      return [{ ...base, type: "unknown" }];
  }
}

/** Returns the payment of an order. For a subscription, the invoice's event has the payment. */
function orderPayment({ id, attributes }: EventObject): VendorPayment {
  const item = attributes.at("first_order_item");
  const variant = item.id("variant_id");
  return {
    id: `order-${id}`,
    prices: variant === undefined ? [] : [{ ids: [variant], quantity: item.quantity() }],
    isForCredits: true,
    isOnlyForOneTime: true,
    ...amountOf(attributes),
  };
}

/** Returns the payment of an invoice. Its prices are empty, because the event names no variant. */
function invoiceFacts(
  { id, attributes }: EventObject,
): Pick<VendorEvent, "payment" | "subscriptionId"> {
  const reason = attributes.text("billing_reason");
  const isChange = reason === "updated";
  const amounts = amountOf(attributes);
  return {
    payment: {
      id: `invoice-${id}`,
      prices: [],
      isForCredits: true,
      isOnlyForOneTime: false,
      isChange,
      isFirst: reason === "initial",
      isPaidByCredit: isChange && isMostlyCredit(amounts.amount, amounts.netAmount),
      ...compact({ boughtAt: utcOf(attributes.text("created_at")) }),
      ...amounts,
    },
    ...compact({ subscriptionId: attributes.id("subscription_id") }),
  };
}

function amountOf(
  attributes: JsonFields,
): Pick<VendorPayment, "amount" | "currency" | "netAmount"> {
  const subtotal = attributes.number("subtotal");
  return compact({
    // The amount after discounts. Credit from a change to a smaller plan is not subtracted.
    netAmount: subtotal === undefined
      ? undefined
      : subtotal - (attributes.number("discount_total") ?? 0),
    amount: attributes.number("total"),
    currency: attributes.text("currency")?.toLowerCase(),
  });
}

function termsFacts(
  { data }: EventObject,
): Pick<VendorEvent, "subscription" | "subscriptionId" | "itemChangedAt"> {
  const facts = subscriptionFacts(lemonSqueezySubscription(data));
  return { ...facts, ...compact({ itemChangedAt: lemonSqueezyItemChangedAt(data) }) };
}

export function lemonSqueezyItemChangedAt(data: JsonFields): string | undefined {
  return utcOf(data.at("attributes").at("first_subscription_item").text("updated_at"));
}

export function lemonSqueezySubscription(data: JsonFields): BillingSubscription | null {
  const attributes = data.at("attributes");
  const [id, customerId] = [data.id("id"), attributes.id("customer_id")];
  if (id === undefined || customerId === undefined || data.text("type") !== "subscriptions") {
    return null;
  }
  const item = attributes.at("first_subscription_item");
  return {
    id,
    customerId,
    provider: lemonSqueezyName,
    status: statusOf(attributes.text("status")),
    ...compact({
      priceId: attributes.id("variant_id"),
      // JSON has no NaN, so an invalid quantity becomes 0, which grants nothing.
      quantity: item.value === undefined ? undefined : item.quantity() || 0,
      // A canceled subscription remains usable until the time in `ends_at`.
      currentPeriodEnd: utcOf(attributes.text("ends_at") ?? attributes.text("renews_at")),
      cancelAtPeriodEnd: attributes.flag("cancelled"),
    }),
  };
}
