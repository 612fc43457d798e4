import { type Described, group } from "../../../options/option.ts";
import { flag, textLike } from "../../../options/option_kinds.ts";
import { Problem } from "../../../problem/problem.ts";
import type { BillingSubscription } from "../../billing_event.ts";
import type {
  BillingProvider,
  PaidPrice,
  ProviderCheckout,
  UsageReport,
  VendorEvent,
} from "../billing_provider.ts";
import { JsonFields, timeOf } from "../json_fields.ts";
import {
  type ProviderOptions,
  providerOptions,
  secretsOf,
  secretText,
} from "../provider_options.ts";
import { billingFailed, VendorApi } from "../vendor_api.ts";
import {
  headerOf,
  hexCodes,
  keysOf,
  parseDelivery,
  verifySignature,
} from "../webhook_signature.ts";
import {
  lemonSqueezyName,
  lemonSqueezySubscription,
  readLemonSqueezyEvent,
} from "./lemon_squeezy_events.ts";

/** Options of {@link lemonSqueezy}. */
export interface LemonSqueezyOptions extends ProviderOptions {
  /** The key of the API. */
  readonly apiKey: string;
  /** The id of the store, for checkouts. */
  readonly storeId: string;
  /** True if this is test mode, whose deliveries are refused otherwise. Live unless set. */
  readonly testMode?: boolean | undefined;
}

/** The options of {@link lemonSqueezy}, described. */
export const lemonSqueezyOptions = group(
  {
    ...providerOptions,
    apiKey: secretText().required(),
    storeId: textLike("the number of a store", /^\d{1,15}$/).required(),
    testMode: flag().unlessSet(false),
  } satisfies Described<LemonSqueezyOptions>,
).required();

/**
 * Lemon Squeezy: `priceId` is the id of a variant. A checkout has one item. Throws a plain Error for
 * an option that cannot be one.
 *
 * Its deliveries have neither an id nor a time, so that an old one looks like a new one:
 * what they grant is bound to the order or the invoice, for ever.
 *
 * @example
 * ```ts
 * import { lemonSqueezy } from "@svc/resource-api/billing";
 *
 * const provider = lemonSqueezy({ apiKey: "key", storeId: "123", webhookSecret: "abcdef" });
 * console.log(provider.name, provider.isSigned); // lemon-squeezy true
 * ```
 */
export function lemonSqueezy(options: LemonSqueezyOptions): BillingProvider {
  const read = lemonSqueezyOptions.read(options, { subject: "Cannot start", path: "lemonSqueezy" });
  const { apiKey, storeId, testMode, toleranceMs } = read;
  const keys = keysOf(secretsOf(read.webhookSecret));
  const api = new VendorApi({
    provider: lemonSqueezyName,
    baseUrl: read.baseUrl ?? "https://api.lemonsqueezy.com",
    headers: {
      accept: "application/vnd.api+json",
      "content-type": "application/vnd.api+json",
      authorization: `Bearer ${apiKey}`,
    },
    fetch: read.fetch ?? ((...args) => fetch(...args)),
    timeoutMs: read.timeoutMs,
  });
  const path = (id: string) => `/v1/subscriptions/${encodeURIComponent(id)}`;
  const provider: BillingProvider = {
    name: lemonSqueezyName,
    isSigned: keys.length > 0,
    isLive: !testMode,
    findsCustomerByEmail: true,
    createCheckout: (checkout) => createCheckout(api, checkout, { storeId, testMode }),
    async createPortal(customerId) {
      const answer = await api.send({
        method: "GET",
        path: `/v1/customers/${encodeURIComponent(customerId)}`,
      });
      const url = answer.at("data").at("attributes").at("urls").text("customer_portal");
      if (url === undefined) throw failed("the customer has no portal");
      return { url };
    },
    async listSubscriptions(customerId) {
      const path = `/v1/customers/${encodeURIComponent(customerId)}/subscriptions`;
      const call = { method: "GET", path, query: { "page[size]": "100" } } as const;
      const all = await api.listAll(call, "data", (answer, page) => {
        const last = answer.at("meta").at("page").number("lastPage") ?? 1;
        return page < last ? { "page[number]": String(page + 1) } : undefined;
      });
      return all.map(subscriptionOf);
    },
    async getSubscription(id) {
      const answer = await api.find({ method: "GET", path: path(id) });
      return answer === null ? null : subscriptionOf(answer.at("data"));
    },
    async cancelSubscription(id, { atPeriodEnd }) {
      if (!atPeriodEnd) {
        throw new Problem(
          "billing-unsupported",
          "Cannot cancel at once: Lemon Squeezy cancels at the end of the period",
        );
      }
      return subscriptionOf((await api.send({ method: "DELETE", path: path(id) })).at("data"));
    },
    async updateSubscription(id, { priceId }) {
      const data = { type: "subscriptions", id, attributes: { variant_id: Number(priceId) } };
      const answer = await api.send({ method: "PATCH", path: path(id), body: { data } });
      return subscriptionOf(answer.at("data"));
    },
    reportUsage: (report) => reportUsage(api, report),
    async readDelivery(delivery) {
      if (keys.length > 0) {
        const codes = hexCodes([headerOf(delivery, "x-signature")]);
        const offered = { prefix: "", codes, timestamp: null };
        await verifySignature(delivery, offered, { keys, toleranceMs });
      }
      return readLemonSqueezyEvent(parseDelivery(delivery));
    },
    findPrices: (event) => findPrices(api, event),
  };
  return provider;
}

/**
 * What the subscription of an invoice was for: what it is for now, unless it has changed since. Of its
 * first invoice it is what was ordered.
 */
async function findPrices(
  api: VendorApi,
  { subscriptionId, payment, raw }: VendorEvent,
): Promise<readonly PaidPrice[]> {
  if (subscriptionId === undefined) return [];
  const path = `/v1/subscriptions/${encodeURIComponent(subscriptionId)}`;
  const answer = await api.find({ method: "GET", path });
  const attributes = answer?.at("data").at("attributes");
  const item = attributes?.at("first_subscription_item");
  const changedAt = timeOf(item?.text("updated_at"));
  const boughtAt = payment?.boughtAt;
  const variant = attributes?.id("variant_id");
  if (changedAt === undefined || boughtAt === undefined || changedAt <= boughtAt) {
    return priceOf(variant, item);
  }
  const orderId = attributes?.id("order_id");
  const invoice = new JsonFields(raw).at("data").at("attributes");
  if (invoice.text("billing_reason") !== "initial" || orderId === undefined) return [];
  const order = await api.find({
    method: "GET",
    path: `/v1/orders/${encodeURIComponent(orderId)}`,
  });
  const ordered = order?.at("data").at("attributes").at("first_order_item");
  return priceOf(ordered?.id("variant_id"), ordered);
}

function priceOf(
  variant: string | undefined,
  item: JsonFields | undefined,
): readonly PaidPrice[] {
  return variant === undefined ? [] : [{ ids: [variant], quantity: item?.quantity() ?? 1 }];
}

async function reportUsage(
  api: VendorApi,
  { subscriptionItemId, quantity, action }: UsageReport,
): Promise<void> {
  const item = { data: { type: "subscription-items", id: subscriptionItemId } };
  await api.send({
    method: "POST",
    path: "/v1/usage-records",
    body: {
      data: {
        type: "usage-records",
        attributes: { quantity, action },
        relationships: { "subscription-item": item },
      },
    },
  });
}

async function createCheckout(
  api: VendorApi,
  { items, metadata, customerEmail, successUrl }: ProviderCheckout,
  { storeId, testMode }: { readonly storeId: string; readonly testMode: boolean },
) {
  const [item, ...others] = items;
  if (item === undefined || others.length > 0) throw failed("a checkout has one item");
  const answer = await api.send({
    method: "POST",
    path: "/v1/checkouts",
    body: {
      data: {
        type: "checkouts",
        attributes: {
          ...(successUrl === undefined ? {} : { product_options: { redirect_url: successUrl } }),
          checkout_data: {
            ...(customerEmail === undefined ? {} : { email: customerEmail }),
            custom: metadata,
            variant_quantities: [{ variant_id: Number(item.priceId), quantity: item.quantity }],
          },
          test_mode: testMode,
        },
        relationships: {
          store: { data: { type: "stores", id: storeId } },
          variant: { data: { type: "variants", id: item.priceId } },
        },
      },
    },
  });
  const data = answer.at("data");
  const [id, url] = [data.id("id"), data.at("attributes").text("url")];
  if (id === undefined || url === undefined) throw failed("the answer has no checkout");
  return { id, url };
}

function subscriptionOf(data: JsonFields): BillingSubscription {
  const subscription = lemonSqueezySubscription(data);
  if (subscription === null) throw failed("the answer is no subscription");
  return subscription;
}

function failed(reason: string) {
  return billingFailed(lemonSqueezyName, new Error(reason));
}
