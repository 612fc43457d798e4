import { groupOf } from "../../../options/option.ts";
import { flag } from "../../../options/option_kinds.ts";
import {
  type BillingProvider,
  keyOption,
  type PaidPrice,
  type ProviderCheckout,
  providerOptionRules,
  type ProviderOptions,
  secretsOf,
  type VendorDelivery,
  type VendorEvent,
} from "../billing_provider.ts";
import {
  compact,
  isMostlyCredit,
  type JsonFields,
  statusOf,
  subscriptionFacts,
  utcOf,
} from "../json_fields.ts";
import { noCheckout, noSubscription, VendorApi } from "../vendor_api.ts";
import {
  hmacKeysOf,
  parseDelivery,
  unreadableDelivery,
  verifyTimedSignature,
} from "../webhook_signature.ts";
import type { BillingSubscription } from "../../billing_event.ts";

/** Options of {@link paddle}. */
export interface PaddleOptions extends ProviderOptions {
  /** The API key of Paddle. */
  readonly apiKey: string;
  /** True for Paddle's sandbox, which has its own API and secrets. Default: false. */
  readonly sandbox?: boolean | undefined;
}

export const paddleOptionRules = groupOf<PaddleOptions>()({
  ...providerOptionRules,
  apiKey: keyOption().required(),
  sandbox: flag().default(false),
}).required();

/**
 * Returns the billing provider for Paddle. The `priceId` of a plan is the id of a price, `pri_…`.
 * Paddle has no hosted portal, and usage cannot be reported.
 *
 * @throws {Error} If an option is invalid. The message names the option.
 * @example
 * ```ts
 * import { paddle } from "@svc/resource-api/billing";
 *
 * const provider = paddle({ apiKey: "key", webhookSecret: "pdl_ntfset_1234" });
 * console.log(provider.name, provider.createPortal); // paddle undefined
 * ```
 */
export function paddle(options: PaddleOptions): BillingProvider {
  const read = paddleOptionRules.read(options, { subject: "Cannot start", path: "paddle" });
  const { apiKey, sandbox, toleranceMs, webhookSecret, ...others } = read;
  const keys = hmacKeysOf(secretsOf(webhookSecret));
  const api = new VendorApi({
    ...others,
    provider: paddleName,
    baseUrl: others.baseUrl ?? `https://${sandbox ? "sandbox-" : ""}api.paddle.com`,
    headers: { authorization: `Bearer ${apiKey}`, "paddle-version": "1" },
  });
  const subscriptionOf = (data: JsonFields) => api.expect(paddleSubscription(data), noSubscription);
  const path = (id: string) => `/subscriptions/${encodeURIComponent(id)}`;
  const provider: BillingProvider = {
    name: paddleName,
    isSigned: keys.length > 0,
    isLive: null,
    findsCustomerByEmail: true,
    createCheckout: (checkout) => createCheckout(api, checkout),
    async listSubscriptions(customerId) {
      const query = { customer_id: customerId, per_page: "200" };
      const call = { method: "GET", path: "/subscriptions", query } as const;
      const all = await api.listAll(call, "data", (answer) => {
        const after = answer.list("data").at(-1)?.text("id");
        const isMore = answer.at("meta").at("pagination").flag("has_more") === true;
        return isMore && after !== undefined ? { after } : undefined;
      });
      return all.map(subscriptionOf);
    },
    async getSubscription(id) {
      const answer = await api.find({ method: "GET", path: path(id) });
      return answer === null ? null : subscriptionOf(answer.at("data"));
    },
    async cancelSubscription(id, { atPeriodEnd }) {
      const body = { effective_from: atPeriodEnd ? "next_billing_period" : "immediately" };
      const answer = await api.send({ method: "POST", path: `${path(id)}/cancel`, body });
      return subscriptionOf(answer.at("data"));
    },
    async updateSubscription(id, { priceId }) {
      const body = {
        items: [{ price_id: priceId, quantity: 1 }],
        proration_billing_mode: "prorated_immediately",
      };
      const answer = await api.send({ method: "PATCH", path: path(id), body });
      return subscriptionOf(answer.at("data"));
    },
    async readDelivery(delivery) {
      if (keys.length > 0) await verifyTimedSignature(delivery, signature, { keys, toleranceMs });
      return readPaddleEvent(parseDelivery(delivery));
    },
    async findPrices({ subscriptionId }: VendorEvent): Promise<readonly PaidPrice[]> {
      if (subscriptionId === undefined) return [];
      const { priceId } = await provider.getSubscription(subscriptionId) ?? {};
      return priceId === undefined ? [] : [{ ids: [priceId], quantity: 1 }];
    },
  };
  return provider;
}

/**
 * The header `paddle-signature`: `ts=<seconds>;h1=<hex>`
 * (https://developer.paddle.com/webhooks/signature-verification). Paddle's own library is not used,
 * because it checks only the last `h1` and accepts any future time.
 */
const signature = {
  ...{ header: "paddle-signature", separator: ";", time: "ts", code: "h1", joint: ":" },
} as const;

async function createCheckout(api: VendorApi, { items, metadata, customerId }: ProviderCheckout) {
  const answer = await api.send({
    method: "POST",
    path: "/transactions",
    body: {
      items: items.map(({ priceId, quantity }) => ({ price_id: priceId, quantity })),
      // Paddle copies `custom_data` to the subscription, and then to its renewals.
      custom_data: metadata,
      collection_mode: "automatic",
      ...(customerId === undefined ? {} : { customer_id: customerId }),
    },
  });
  const data = answer.at("data");
  return {
    id: api.expect(data.text("id"), noCheckout),
    url: api.expect(data.at("checkout").text("url"), noCheckout),
  };
}

const paddleName = "paddle";

function readPaddleEvent(body: JsonFields): VendorDelivery {
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
    // `transaction.paid` is no payment here, because the transaction can still change after it.
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

/** Returns true if credit paid a change. Without `credit_to_balance`, only a big credit counts. */
function isPaidByCredit(totals: JsonFields): boolean {
  const [total, cash] = [totals.number("total"), totals.number("grand_total")];
  if (totals.number("credit_to_balance") === undefined) return isMostlyCredit(cash, total);
  return total !== undefined && (total <= 0 || cash !== undefined && cash < total);
}

function linePrice(item: JsonFields): readonly PaidPrice[] {
  const id = item.at("price").text("id") ?? item.text("price_id");
  if (id === undefined) return [];
  // A rate of 1 means that the line bills a whole period. A new interval starts such a period.
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
