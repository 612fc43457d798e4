import { groupOf } from "../../../options/option.ts";
import { oneOf, textLike } from "../../../options/option_kinds.ts";
import { Problem } from "../../../problem/problem.ts";
import { base64ToBytes } from "../../../protocol/byte_text.ts";
import {
  type BillingProvider,
  keyOption,
  type ProviderCheckout,
  providerOptionRules,
  type ProviderOptions,
  secretsOf,
  type UsageReport,
  type WebhookDelivery,
} from "../billing_provider.ts";
import type { JsonFields } from "../json_fields.ts";
import { noCheckout, noSubscription, VendorApi } from "../vendor_api.ts";
import {
  headerOf,
  hmacKeysOf,
  parseDelivery,
  refusedDelivery,
  type SignatureRules,
  verifySignature,
} from "../webhook_signature.ts";
import { polarName, polarSubscription, readPolarEvent } from "./polar_events.ts";

/** Options of {@link polar}. */
export interface PolarOptions extends ProviderOptions {
  /** An access token of your organization at Polar. */
  readonly accessToken: string;
  /** The server of Polar. Each server has separate data and secrets. Default: `production`. */
  readonly server?: "production" | "sandbox" | undefined;
  /** The name of the usage events at Polar. Default: `usage`. */
  readonly usageEvent?: string | undefined;
}

export const polarOptionRules = groupOf<PolarOptions>()({
  ...providerOptionRules,
  accessToken: keyOption().required(),
  server: oneOf("production", "sandbox").default("production"),
  usageEvent: textLike("a name", /^[\w.-]{1,100}$/).default("usage"),
}).required();

/**
 * Returns the billing provider for Polar. The `priceId` of a plan is the id of a product or price.
 *
 * @throws {Error} If an option is invalid. The message names the option.
 * @example
 * ```ts
 * import { polar } from "@svc/resource-api/billing";
 *
 * const provider = polar({ accessToken: "token", webhookSecret: "whsec_1234" });
 * console.log(provider.name, provider.isSigned); // polar true
 * ```
 */
export function polar(options: PolarOptions): BillingProvider {
  const read = polarOptionRules.read(options, { subject: "Cannot start", path: "polar" });
  const { accessToken, server, toleranceMs, usageEvent, webhookSecret, ...others } = read;
  // Polar signs with the bytes of the whole secret including its prefix. Standard Webhooks signs
  // with the decoded part after `whsec_`. The service accepts both.
  const keys = secretsOf(webhookSecret).flatMap((secret) => [
    ...hmacKeysOf([secret]),
    ...decoded(secret.replace(/^whsec_/, "")).filter((bytes) => bytes.length > 0),
  ]);
  const host = server === "sandbox" ? "sandbox-api.polar.sh" : "api.polar.sh";
  const api = new VendorApi({
    ...others,
    provider: polarName,
    baseUrl: others.baseUrl ?? `https://${host}`,
    headers: { authorization: `Bearer ${accessToken}` },
  });
  const subscriptionOf = (data: JsonFields) => api.expect(polarSubscription(data), noSubscription);
  const path = (id: string) => `/v1/subscriptions/${encodeURIComponent(id)}`;
  const provider: BillingProvider = {
    name: polarName,
    isSigned: keys.length > 0,
    isLive: null,
    findsCustomerByEmail: true,
    createCheckout: (checkout) => createCheckout(api, checkout),
    async createPortal(customerId) {
      const body = { customer_id: customerId };
      const answer = await api.send({ method: "POST", path: "/v1/customer-sessions/", body });
      return { url: api.expect(answer.text("customer_portal_url"), "the response has no portal") };
    },
    async listSubscriptions(customerId) {
      const query = { customer_id: customerId, limit: "100" };
      const call = { method: "GET", path: "/v1/subscriptions/", query } as const;
      const all = await api.listAll(call, "items", (answer, page) => {
        const last = answer.at("pagination").number("max_page") ?? 1;
        return page < last ? { page: String(page + 1) } : undefined;
      });
      return all.map(subscriptionOf);
    },
    async getSubscription(id) {
      const answer = await api.find({ method: "GET", path: path(id) });
      return answer === null ? null : subscriptionOf(answer);
    },
    async cancelSubscription(id, { atPeriodEnd }) {
      return subscriptionOf(
        await api.send(
          atPeriodEnd
            ? { method: "PATCH", path: path(id), body: { cancel_at_period_end: true } }
            : { method: "DELETE", path: path(id) },
        ),
      );
    },
    async updateSubscription(id, { priceId }) {
      const body = { product_id: priceId };
      return subscriptionOf(await api.send({ method: "PATCH", path: path(id), body }));
    },
    reportUsage: (report) => reportUsage(api, provider, report, usageEvent),
    async readDelivery(delivery) {
      if (keys.length > 0) await verifyStandardWebhook(delivery, { keys, toleranceMs });
      return readPolarEvent(parseDelivery(delivery), headerOf(delivery, "webhook-id"));
    },
  };
  return provider;
}

function decoded(text: string): readonly Uint8Array<ArrayBuffer>[] {
  try {
    return [new Uint8Array(base64ToBytes(text))];
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

/**
 * Verifies the header `webhook-signature` of Standard Webhooks, which contains one or more
 * `v1,<base64>` with spaces between (https://github.com/standard-webhooks/standard-webhooks).
 */
async function verifyStandardWebhook(
  delivery: WebhookDelivery,
  rules: SignatureRules,
): Promise<void> {
  const id = headerOf(delivery, "webhook-id");
  const timestamp = headerOf(delivery, "webhook-timestamp");
  // The signed string is `id.timestamp.body`, so the id must not contain a full stop.
  if (!/^[\w:-]{1,255}$/.test(id)) throw refusedDelivery("the id is not one");
  const codes = headerOf(delivery, "webhook-signature").split(" ")
    .filter((one) => one.startsWith("v1,")).flatMap((one) => decoded(one.slice(3)));
  await verifySignature(delivery, { prefix: `${id}.${timestamp}.`, codes, timestamp }, rules);
}

async function createCheckout(api: VendorApi, checkout: ProviderCheckout) {
  const { items, metadata, accountId, customerId, customerEmail, successUrl } = checkout;
  if (items.some(({ quantity }) => quantity !== 1)) {
    throw api.failed(new Error("a checkout has one of a product"));
  }
  const answer = await api.send({
    method: "POST",
    path: "/v1/checkouts/",
    body: {
      products: items.map(({ priceId }) => priceId),
      metadata,
      // Polar finds or creates the customer whose external id is the account's id.
      ...(customerId === undefined
        ? { external_customer_id: accountId }
        : { customer_id: customerId }),
      ...(customerEmail === undefined ? {} : { customer_email: customerEmail }),
      ...(successUrl === undefined ? {} : { success_url: successUrl }),
    },
  });
  return {
    id: api.expect(answer.text("id"), noCheckout),
    url: api.expect(answer.text("url"), noCheckout),
  };
}

async function reportUsage(
  api: VendorApi,
  provider: BillingProvider,
  report: UsageReport,
  name: string,
): Promise<void> {
  const { subscriptionItemId, quantity, action, idempotencyKey } = report;
  if (action !== "increment") {
    throw new Problem(
      "billing-unsupported",
      `Cannot ${action} usage: Polar's events only take action "increment"`,
    );
  }
  const found = await provider.getSubscription(subscriptionItemId);
  const subscription = api.expect(found, "there is no such subscription");
  await api.send({
    method: "POST",
    path: "/v1/events/ingest",
    body: {
      events: [{
        name,
        external_id: idempotencyKey,
        customer_id: subscription.customerId,
        metadata: { quantity, subscriptionId: subscription.id },
      }],
    },
  });
}
