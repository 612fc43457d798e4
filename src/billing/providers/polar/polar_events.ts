import type { BillingSubscription } from "../../billing_event.ts";
import type { PaidPrice, VendorDelivery, VendorEvent } from "../billing_provider.ts";
import { compact, type JsonFields, statusOf, subscriptionFacts, utcOf } from "../json_fields.ts";
import { unreadableDelivery } from "../webhook_signature.ts";

export const polarName = "polar";

/** Reads an event of Polar. `id` comes from a header. Throws a 400 if the body is no event. */
export function readPolarEvent(body: JsonFields, id: string): VendorDelivery {
  const type = body.text("type");
  const data = body.at("data");
  const occurredAt = utcOf(body.text("timestamp")) ??
    utcOf(data.text("modified_at") ?? data.text("created_at"));
  if (type === undefined || occurredAt === undefined) throw unreadableDelivery();
  const externalId = data.at("customer").text("external_id") ??
    data.text("external_customer_id") ?? data.text("customer_external_id");
  const base = {
    id,
    occurredAt,
    raw: body.value,
    // A buyer cannot set the account: a link's URL can set only `reference_id` and `utm_…`.
    isMetadataOfServer: true,
    metadata: {
      ...(externalId === undefined ? {} : { accountId: externalId }),
      ...data.texts("metadata"),
    },
    ...compact({ customerId: data.text("customer_id") ?? data.at("customer").text("id") }),
  };
  return { id, isLive: null, events: [{ ...base, ...eventFacts(type, data) }] };
}

type EventFacts = Pick<VendorEvent, "type" | "payment" | "subscription" | "subscriptionId">;

function eventFacts(type: string, data: JsonFields): EventFacts {
  switch (type) {
    // `order.created` is no payment here, because an order is created before it is paid.
    case "order.paid":
      return { type: "payment.succeeded", ...orderFacts(data) };
    case "checkout.updated":
      return { type: data.text("status") === "succeeded" ? "checkout.completed" : "unknown" };
    case "subscription.created":
      return { type, ...subscriptionFacts(polarSubscription(data)) };
    case "subscription.past_due":
    case "subscription.active":
    case "subscription.updated":
    case "subscription.uncanceled":
    case "subscription.cycled":
    case "subscription.paused":
    case "subscription.resumed":
    // A canceled subscription ends with its period. Until then, Polar reports it as active.
    case "subscription.canceled":
      return { type: "subscription.updated", ...subscriptionFacts(polarSubscription(data)) };
    case "subscription.revoked":
      return { type: "subscription.canceled", ...subscriptionFacts(polarSubscription(data)) };
    default:
      return { type: "unknown" };
  }
}

function orderFacts(data: JsonFields): Pick<VendorEvent, "payment" | "subscriptionId"> {
  const id = data.text("id");
  if (id === undefined) return {};
  return {
    payment: {
      id,
      prices: orderPrices(data),
      isForCredits: true,
      isOnlyForOneTime: false,
      isPaidByCredit: isPaidByCredit(data),
      ...compact({
        amount: data.number("total_amount") ?? data.number("amount"),
        currency: data.text("currency")?.toLowerCase(),
      }),
    },
    ...compact({ subscriptionId: data.id("subscription_id") }),
  };
}

function isPaidByCredit(data: JsonFields): boolean {
  const total = data.number("total_amount") ?? data.number("net_amount");
  if (data.text("billing_reason") !== "subscription_update" || total === undefined) return false;
  const due = data.number("due_amount") ?? total + (data.number("applied_balance_amount") ?? 0);
  return total <= 0 || due < total;
}

/** Returns the price of an order, which has one product. Empty if the order names no ids. */
function orderPrices(data: JsonFields): readonly PaidPrice[] {
  const items = data.list("items");
  const whole = items.filter((item) => item.flag("proration") !== true);
  const ids = idsOf(data, items.map((item) => item.text("product_price_id")));
  const total = data.number("net_amount") ?? data.number("total_amount") ?? data.number("amount");
  const amounts = whole.map((item) => item.number("amount") ?? NaN);
  const discount = data.number("discount_amount") ?? 0;
  const sum = amounts.reduce((sum, amount) => sum + amount, -discount);
  // A credit (an item with a negative amount) reduces `total`. The price is then in `sum`.
  const hasCredit = items.some((item) => (item.number("amount") ?? 0) < 0);
  const amount = hasCredit && whole.length > 0 && !Number.isNaN(sum) ? sum : total;
  const isChange = data.text("billing_reason") === "subscription_update";
  // A change of plan that cost nothing counts as a proration, which grants no credits.
  const isProration = items.length > 0 && whole.length === 0 || isChange && (amount ?? 1) <= 0;
  return ids.length === 0
    ? []
    : [{ ids, quantity: data.quantityOrNull("seats"), isProration, ...compact({ amount }) }];
}

function idsOf(data: JsonFields, prices: readonly (string | undefined)[]): readonly string[] {
  const product = data.text("product_id") ?? data.at("product").text("id");
  return [product, ...prices].filter((id) => id !== undefined);
}

export function polarSubscription(data: JsonFields): BillingSubscription | null {
  const id = data.text("id");
  const customerId = data.text("customer_id") ?? data.at("customer").text("id");
  if (id === undefined || customerId === undefined) return null;
  const [priceId] = idsOf(data, data.list("prices").map((price) => price.text("id")));
  return {
    id,
    customerId,
    provider: polarName,
    status: statusOf(data.text("status")),
    metadata: data.texts("metadata"),
    ...compact({
      priceId,
      currentPeriodStart: utcOf(data.text("current_period_start")),
      currentPeriodEnd: utcOf(data.text("current_period_end")),
      cancelAtPeriodEnd: data.flag("cancel_at_period_end"),
    }),
  };
}
