import type { BillingSubscription } from "../../billing_event.ts";
import type { PaidPrice, VendorDelivery, VendorEvent, VendorPayment } from "../billing_provider.ts";
import { pricesIn } from "../checkout_metadata.ts";
import {
  compact,
  type JsonFields,
  statusOf,
  subscriptionFacts,
  utcOfSeconds,
} from "../json_fields.ts";
import { unreadableDelivery } from "../webhook_signature.ts";

export const stripeName = "stripe";

/** Reads an event. Old endpoints still receive the event formats of API versions before 2025. */
export function readStripeEvent(event: JsonFields): VendorDelivery {
  const [id, type] = [event.text("id"), event.text("type")];
  const occurredAt = utcOfSeconds(event.number("created"));
  if (id === undefined || type === undefined || occurredAt === undefined) {
    throw unreadableDelivery();
  }
  const object = event.at("data").at("object");
  const base = {
    id,
    occurredAt,
    raw: event.value,
    isMetadataOfServer: true,
    ...compact({ customerId: object.id("customer") }),
  };
  return { id, isLive: event.flag("livemode") ?? null, events: eventsOf(type, object, base) };
}

type EventBase = Pick<VendorEvent, "id" | "occurredAt" | "raw">;

function eventsOf(type: string, object: JsonFields, base: EventBase): readonly VendorEvent[] {
  switch (type) {
    case "invoice.paid":
    case "invoice.payment_succeeded":
      return [{ ...base, type: "payment.succeeded", ...invoiceFacts(object) }];
    case "invoice.payment_failed":
      return [{ ...base, type: "payment.failed", ...invoiceFacts(object) }];
    case "checkout.session.completed": {
      const completed = { ...base, type: "checkout.completed" as const, ...sessionFacts(object) };
      const paid = { ...completed, type: "payment.succeeded" as const, ...sessionPayment(object) };
      if (object.text("payment_status") === "unpaid") return [{ ...completed, isUnpaid: true }];
      return paid.payment === undefined ? [completed] : [completed, paid];
    }
    case "checkout.session.async_payment_succeeded":
    case "checkout.session.async_payment_failed":
    case "payment_intent.succeeded":
    case "payment_intent.payment_failed": {
      const facts = type.startsWith("payment_intent")
        ? { ...base, ...intentFacts(object) }
        : { ...base, ...sessionFacts(object), ...sessionPayment(object) };
      const outcome = type.endsWith("failed") ? "payment.failed" : "payment.succeeded";
      return [{ ...facts, type: facts.payment === undefined ? "unknown" : outcome }];
    }
    case "customer.subscription.created":
      return [{ ...base, type: "subscription.created", ...subscriptionOf(object) }];
    case "customer.subscription.updated":
    case "customer.subscription.paused":
    case "customer.subscription.resumed":
      return [{ ...base, type: "subscription.updated", ...subscriptionOf(object) }];
    case "customer.subscription.deleted":
      return [{ ...base, type: "subscription.canceled", ...subscriptionOf(object) }];
    default: {
      const isMetadataOfServer = serverObjects.has(object.text("object") ?? "");
      const metadata = object.texts("metadata");
      return [{ ...base, type: "unknown", isMetadataOfServer, metadata }];
    }
  }
}

const serverObjects: ReadonlySet<string> = new Set([
  ...["charge", "checkout.session", "credit_note", "customer", "dispute", "invoice"],
  ...["payment_intent", "refund", "subscription", "subscription_schedule"],
]);

type EventFacts = Pick<VendorEvent, "metadata"> & {
  readonly payment?: VendorPayment;
  readonly subscriptionId?: string;
};

function invoiceFacts(invoice: JsonFields): EventFacts {
  const id = invoice.text("id");
  const details = invoice.at("parent").at("subscription_details");
  const lines = invoice.at("lines").list("data");
  const metadata = {
    ...invoice.texts("metadata"),
    ...Object.assign({}, ...lines.map((line) => line.texts("metadata"))),
    ...invoice.at("subscription_details").texts("metadata"),
    ...details.texts("metadata"),
  };
  return {
    metadata,
    ...compact({
      subscriptionId: details.id("subscription") ?? invoice.id("subscription"),
      payment: id === undefined ? undefined : {
        id,
        prices: invoicePrices(invoice, lines),
        hasMorePrices: invoice.at("lines").flag("has_more") === true,
        isForCredits: true,
        isOnlyForOneTime: false,
        isPaidByCredit: isPaidByCredit(invoice),
        ...compact({
          netAmount: netAmountOf(invoice),
          amount: invoice.number("amount_paid"),
          currency: invoice.text("currency")?.toLowerCase(),
        }),
      },
    }),
  };
}

const changeReasons: ReadonlySet<string> = new Set([
  "subscription_update",
  "subscription_threshold",
]);

/** Returns true if a customer balance partly paid a plan change, which then grants no credits. */
function isPaidByCredit(invoice: JsonFields): boolean {
  const netAmount = netAmountOf(invoice);
  if (invoice.text("billing_reason") !== "subscription_update" || netAmount === undefined) {
    return false;
  }
  const cash = invoice.flag("paid_out_of_band") === true
    ? invoice.number("amount_due")
    : invoice.number("amount_paid");
  return netAmount <= 0 || cash !== undefined && cash < netAmount;
}

function isProration(line: JsonFields): boolean {
  const parent = line.at("parent");
  return line.flag("proration") === true ||
    ["subscription_item_details", "invoice_item_details"]
      .some((kind) => parent.at(kind).flag("proration") === true);
}

/** Returns the prices of an invoice, which can bill a new period and a change of the old price. */
export function invoicePrices(
  invoice: JsonFields,
  lines: readonly JsonFields[],
): readonly PaidPrice[] {
  const netAmount = netAmountOf(invoice);
  const isChange = changeReasons.has(invoice.text("billing_reason") ?? "");
  // If a credit (a negative line) reduces the net amount to 0, the other lines are not free.
  const hasCredit = lines.some((line) => (line.number("amount") ?? 0) < 0);
  const isFree = netAmount !== undefined && netAmount <= 0 &&
    (!hasCredit || creditNotes(invoice) > 0);
  return lines.flatMap((line) => {
    const id = line.at("pricing").at("price_details").id("price") ?? line.id("price") ??
      line.id("plan");
    if (id === undefined) return [];
    const amount = isFree ? netAmount : discounted(line);
    return [{
      ids: [id],
      quantity: line.quantityOrNull(),
      // A change of plan that costs nothing, e.g. during a trial, counts as a proration.
      isProration: isProration(line) || isChange && (amount ?? netAmount ?? 1) <= 0,
      ...compact({ amount }),
    }];
  });
}

function netAmountOf(invoice: JsonFields): number | undefined {
  const total = invoice.number("total");
  return total === undefined ? invoice.number("amount_paid") : total - creditNotes(invoice);
}

function creditNotes(invoice: JsonFields): number {
  return invoice.number("pre_payment_credit_notes_amount") ?? 0;
}

function discounted(line: JsonFields): number | undefined {
  const discounts = line.list("discount_amounts").map((one) => one.number("amount") ?? 0);
  const amount = line.number("amount");
  return amount === undefined
    ? undefined
    : amount - discounts.reduce((sum, discount) => sum + discount, 0);
}

function sessionFacts(session: JsonFields): EventFacts {
  // `client_reference_id` is ignored: anyone can set it in the URL of a payment link.
  return {
    metadata: session.texts("metadata"),
    ...compact({ subscriptionId: session.id("subscription") }),
  };
}

/** Returns the payment of a session without an invoice. Invoices have their own events. */
function sessionPayment(session: JsonFields): EventFacts {
  const id = session.id("payment_intent") ?? session.text("id");
  if (session.text("mode") !== "payment" || session.id("invoice") !== undefined) return {};
  if (id === undefined) return {};
  return {
    payment: {
      id,
      prices: pricesIn(session.texts("metadata")),
      isForCredits: true,
      isOnlyForOneTime: false,
      ...compact({
        amount: session.number("amount_total"),
        currency: session.text("currency")?.toLowerCase(),
      }),
    },
  };
}

/**
 * Returns the payment of a PaymentIntent. A current API version does not show if the intent belongs
 * to an invoice. The service assumes so if its metadata has neither prices nor an account.
 */
function intentFacts(intent: JsonFields): EventFacts {
  const id = intent.text("id");
  const metadata = intent.texts("metadata");
  if (id === undefined || intent.id("invoice") !== undefined) return { metadata };
  const prices = pricesIn(metadata);
  return {
    metadata,
    payment: {
      id,
      prices,
      isForCredits: true,
      isOnlyForOneTime: prices.length === 0 && !("accountId" in metadata || "userId" in metadata),
      ...compact({
        amount: intent.number("amount_received"),
        currency: intent.text("currency")?.toLowerCase(),
      }),
    },
  };
}

function subscriptionOf(object: JsonFields): EventFacts & Pick<VendorEvent, "subscription"> {
  const facts = subscriptionFacts(stripeSubscription(object));
  return { ...facts, ...compact({ metadata: facts.subscription?.metadata }) };
}

export function stripeSubscription(object: JsonFields): BillingSubscription | null {
  const [id, customerId] = [object.text("id"), object.id("customer")];
  if (id === undefined || customerId === undefined) return null;
  const [item] = object.at("items").list("data");
  const seconds = (name: string) => item?.number(name) ?? object.number(name);
  return {
    id,
    customerId,
    provider: stripeName,
    status: statusOf(object.text("status")),
    metadata: object.texts("metadata"),
    ...compact({
      priceId: item?.id("price") ?? item?.id("plan") ?? object.id("plan"),
      currentPeriodStart: utcOfSeconds(seconds("current_period_start")),
      currentPeriodEnd: utcOfSeconds(seconds("current_period_end")),
      cancelAtPeriodEnd: object.flag("cancel_at_period_end"),
    }),
  };
}
