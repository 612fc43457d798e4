import { groupOf } from "../../../options/option.ts";
import { flag, textLike } from "../../../options/option_kinds.ts";
import { Problem } from "../../../problem/problem.ts";
import {
  type BillingProvider,
  keyOption,
  type PaidPrice,
  type ProviderCheckout,
  providerOptionRules,
  type ProviderOptions,
  type ReadTerms,
  secretsOf,
  type UsageReport,
  type VendorEvent,
} from "../billing_provider.ts";
import { compact, type JsonFields, utcOf } from "../json_fields.ts";
import { noCheckout, noSubscription, VendorApi } from "../vendor_api.ts";
import {
  decodeHexCodes,
  headerOf,
  hmacKeysOf,
  parseDelivery,
  verifySignature,
} from "../webhook_signature.ts";
import {
  lemonSqueezyItemChangedAt,
  lemonSqueezyName,
  lemonSqueezySubscription,
  readLemonSqueezyEvent,
} from "./lemon_squeezy_events.ts";

/** Options of {@link lemonSqueezy}. */
export interface LemonSqueezyOptions extends ProviderOptions {
  /** The API key of Lemon Squeezy. */
  readonly apiKey: string;
  /** The id of your store, in which checkouts are created. */
  readonly storeId: string;
  /** True for test mode. Otherwise, test deliveries are rejected. Default: false. */
  readonly testMode?: boolean | undefined;
}

export const lemonSqueezyOptionRules = groupOf<LemonSqueezyOptions>()({
  ...providerOptionRules,
  apiKey: keyOption().required(),
  storeId: textLike("the number of a store", /^\d{1,15}$/).required(),
  testMode: flag().default(false),
}).required();

/**
 * Returns the billing provider for Lemon Squeezy. The `priceId` of a plan is the id of a variant. A
 * checkout has one item. Deliveries have neither an id nor a time, so the service accepts a copy of
 * an old delivery. The copy grants nothing: an order or invoice grants credits only once.
 *
 * @throws {Error} If an option is invalid. The message names the option.
 * @example
 * ```ts
 * import { lemonSqueezy } from "@svc/resource-api/billing";
 *
 * const provider = lemonSqueezy({ apiKey: "key", storeId: "123", webhookSecret: "abcdef" });
 * console.log(provider.name, provider.isSigned); // lemon-squeezy true
 * ```
 */
export function lemonSqueezy(options: LemonSqueezyOptions): BillingProvider {
  const read = lemonSqueezyOptionRules.read(options, {
    subject: "Cannot start",
    path: "lemonSqueezy",
  });
  const { apiKey, storeId, testMode, toleranceMs, webhookSecret, ...others } = read;
  const keys = hmacKeysOf(secretsOf(webhookSecret));
  const api = new VendorApi({
    ...others,
    provider: lemonSqueezyName,
    baseUrl: others.baseUrl ?? "https://api.lemonsqueezy.com",
    headers: {
      accept: "application/vnd.api+json",
      "content-type": "application/vnd.api+json",
      authorization: `Bearer ${apiKey}`,
    },
  });
  const subscriptionOf = (data: JsonFields) => subscriptionIn(data, api);
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
      const urls = answer.at("data").at("attributes").at("urls");
      return { url: api.expect(urls.text("customer_portal"), "the customer has no portal") };
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
        const codes = decodeHexCodes([headerOf(delivery, "x-signature")]);
        const offered = { prefix: "", codes, timestamp: null };
        await verifySignature(delivery, offered, { keys, toleranceMs });
      }
      return readLemonSqueezyEvent(parseDelivery(delivery));
    },
    readTerms: (id) => readTerms(api, path(id)),
    findPrices: (event) => findOrdered(api, event),
  };
  return provider;
}

function subscriptionIn(data: JsonFields, api: VendorApi) {
  return api.expect(lemonSqueezySubscription(data), noSubscription);
}

async function readTerms(api: VendorApi, path: string): Promise<ReadTerms | null> {
  const answer = await api.find({ method: "GET", path });
  if (answer === null) return null;
  const data = answer.at("data");
  const changedAt = utcOf(data.at("attributes").text("updated_at"));
  const itemChangedAt = lemonSqueezyItemChangedAt(data);
  return { subscription: subscriptionIn(data, api), ...compact({ changedAt, itemChangedAt }) };
}

/** Returns the prices of the order that began a subscription; empty for a later payment. */
async function findOrdered(
  api: VendorApi,
  { subscriptionId, payment }: VendorEvent,
): Promise<readonly PaidPrice[]> {
  if (subscriptionId === undefined || payment?.isFirst !== true) return [];
  const path = `/v1/subscriptions/${encodeURIComponent(subscriptionId)}`;
  const subscription = await api.find({ method: "GET", path });
  const orderId = subscription?.at("data").at("attributes").id("order_id");
  if (orderId === undefined) return [];
  const order = await api.find({
    method: "GET",
    path: `/v1/orders/${encodeURIComponent(orderId)}`,
  });
  const item = order?.at("data").at("attributes").at("first_order_item");
  const variant = item?.id("variant_id");
  return variant === undefined || item === undefined
    ? []
    : [{ ids: [variant], quantity: item.quantity() }];
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
  if (item === undefined || others.length > 0) {
    throw api.failed(new Error("a checkout has one item"));
  }
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
  return {
    id: api.expect(data.id("id"), noCheckout),
    url: api.expect(data.at("attributes").text("url"), noCheckout),
  };
}
