import { type Described, group } from "../../../options/option.ts";
import { flag } from "../../../options/option_kinds.ts";
import type {
  BillingProvider,
  PaidPrice,
  ProviderCheckout,
  VendorEvent,
} from "../billing_provider.ts";
import type { JsonFields } from "../json_fields.ts";
import {
  keyOption,
  providerOptionRules,
  type ProviderOptions,
  secretsOf,
} from "../provider_options.ts";
import { noCheckout, noSubscription, VendorApi } from "../vendor_api.ts";
import { hmacKeysOf, parseDelivery, verifyTimedSignature } from "../webhook_signature.ts";
import { paddleName, paddleSubscription, readPaddleEvent } from "./paddle_events.ts";

/** Options of {@link paddle}. */
export interface PaddleOptions extends ProviderOptions {
  /** The API key of Paddle. */
  readonly apiKey: string;
  /** True for Paddle's sandbox, which has its own API and secrets. Default: false. */
  readonly sandbox?: boolean | undefined;
}

export const paddleOptionRules = group(
  {
    ...providerOptionRules,
    apiKey: keyOption().required(),
    sandbox: flag().default(false),
  } satisfies Described<PaddleOptions>,
).required();

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
