import type { BillingSubscription } from "../../billing_event.ts";
import type { PaidPrice, VendorDelivery, VendorEvent } from "../billing_provider.ts";
import {
  compact,
  isMostlyCredit,
  type JsonFields,
  statusOf,
  subscriptionFacts,
  utcOf,
} from "../json_fields.ts";
import { unreadableDelivery } from "../webhook_signature.ts";

export const paddleName = "paddle";

export function readPaddleEvent(body: JsonFields): VendorDelivery {
  const [id, type] = [body.text("event_id"), body.text("event_type")];
  const occurredAt = utcOf(body.text("occurred_at"));
  if (id === undefined || type === undefined || occurredAt === undefined) {
    throw unreadableDelivery();
  }
  const data = body.at("data");
  const base = {
    id,
    occurredAt,
    raw: body.value,
    metadata: data.texts("custom_data"),
    ...compact({ customerId: data.id("customer_id") }),
  };
  return { id, isLive: null, events: [{ ...base, ...eventFacts(type, data) }] };
}

type EventFacts = Pick<VendorEvent, "type" | "payment" | "subscription" | "subscriptionId">;

function eventFacts(type: string, data: JsonFields): EventFacts {
  switch (type) {
    // `transaction.paid` is ignored, because the transaction can still change after it.
    case "transaction.completed":
      return { type: "payment.succeeded", ...transactionFacts(data) };
    case "transaction.payment_failed":
      return { type: "payment.failed", ...transactionFacts(data) };
    case "transaction.paid":
      return {
        type: purchases.has(data.text("origin") ?? "") ? "checkout.completed" : "unknown",
        ...compact({ subscriptionId: data.id("subscription_id") }),
      };
    case "subscription.created":
      return { type, ...subscriptionFacts(paddleSubscription(data)) };
    case "subscription.canceled":
      return { type, ...subscriptionFacts(paddleSubscription(data)) };
    case "subscription.activated":
    case "subscription.updated":
    case "subscription.past_due":
    case "subscription.paused":
    case "subscription.resumed":
    case "subscription.trialing":
      return { type: "subscription.updated", ...subscriptionFacts(paddleSubscription(data)) };
    default:
      return { type: "unknown" };
  }
}

/** The origins of transactions that customers start themselves. */
const purchases: ReadonlySet<string> = new Set(["web", "api"]);

const changes: ReadonlySet<string> = new Set([
  "subscription_update",
  "subscription_payment_method_change",
]);

function transactionFacts(data: JsonFields): Pick<VendorEvent, "payment" | "subscriptionId"> {
  const id = data.text("id");
  if (id === undefined) return {};
  const details = data.at("details");
  const totals = details.at("totals");
  // `total` is the amount before a customer balance reduces it, and `grand_total` after.
  const netAmount = totals.number("total");
  const isChange = changes.has(data.text("origin") ?? "");
  const lines = details.list("line_items").flatMap(linePrice);
  const prices = lines.length > 0 ? lines : data.list("items").flatMap(linePrice);
  return {
    payment: {
      id,
      // A change without cost, such as a new payment method, must not grant credits.
      prices: prices.map((line) =>
        isChange && (line.amount ?? netAmount ?? 1) <= 0 ? { ...line, isProration: true } : line
      ),
      isForCredits: true,
      isOnlyForOneTime: false,
      isPaidByCredit: isChange && isPaidByCredit(totals),
      ...compact({
        netAmount,
        amount: totals.number("grand_total"),
        currency: data.text("currency_code")?.toLowerCase(),
      }),
    },
    ...compact({ subscriptionId: data.id("subscription_id") }),
  };
}

/**
 * Returns true if a customer balance pays for a part of the transaction. The proration is a
 * negative line in versions with `credit_to_balance`, and a credit in earlier versions.
 */
function isPaidByCredit(totals: JsonFields): boolean {
  const [total, cash] = [totals.number("total"), totals.number("grand_total")];
  if (totals.number("credit_to_balance") === undefined) return isMostlyCredit(cash, total);
  return total !== undefined && (total <= 0 || cash !== undefined && cash < total);
}

function linePrice(item: JsonFields): readonly PaidPrice[] {
  const id = item.at("price").text("id") ?? item.text("price_id");
  if (id === undefined) return [];
  // A rate of 1 means a whole period: a changed interval starts a new one.
  const proration = item.at("proration");
  const rate = Number(proration.text("rate") ?? proration.number("rate") ?? 1);
  const amount = item.at("totals").number("total");
  return [{
    ids: [id],
    quantity: item.quantity(),
    isProration: rate !== 1,
    ...compact({ amount }),
  }];
}

/** Converts a Paddle subscription. Returns null for another object. */
export function paddleSubscription(data: JsonFields): BillingSubscription | null {
  const [id, customerId] = [data.text("id"), data.text("customer_id")];
  if (id === undefined || customerId === undefined) return null;
  const [item] = data.list("items");
  const period = data.at("current_billing_period");
  return {
    id,
    customerId,
    provider: paddleName,
    status: statusOf(data.text("status")),
    metadata: data.texts("custom_data"),
    cancelAtPeriodEnd: data.at("scheduled_change").text("action") === "cancel",
    ...compact({
      priceId: item?.at("price").text("id"),
      currentPeriodStart: utcOf(period.text("starts_at")),
      currentPeriodEnd: utcOf(period.text("ends_at")),
    }),
  };
}
