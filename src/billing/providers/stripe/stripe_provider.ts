import Stripe from "stripe";
import { Problem } from "../../../problem/problem.ts";
import type { BillingSubscription } from "../../billing_event.ts";
import {
  type BillingProvider,
  type PaidPrice,
  type ProviderCheckout,
  secretsOf,
  type UsageReport,
  type VendorEvent,
} from "../billing_provider.ts";
import { JsonFields } from "../json_fields.ts";
import { maxListed, providerProblem } from "../vendor_api.ts";
import { hmacKeysOf, parseDelivery, verifyTimedSignature } from "../webhook_signature.ts";
import { invoicePrices, readStripeEvent, stripeName, stripeSubscription } from "./stripe_events.ts";
import { stripeOptionRules, type StripeOptions } from "./stripe_options.ts";

/**
 * Returns the billing provider for Stripe. The `priceId` of a plan is the id of a price, `price_…`.
 * With a test key, the service accepts only test deliveries; with a live key, only live deliveries.
 *
 * @throws {Error} If an option is invalid. The message names the option.
 * @example
 * ```ts
 * import { stripe } from "@svc/resource-api/stripe";
 *
 * const provider = stripe({ apiKey: "sk_test_1234", webhookSecret: "whsec_1234" });
 * console.log(provider.name, provider.isLive); // stripe false
 * ```
 */
export function stripe(options: StripeOptions): BillingProvider {
  const read = stripeOptionRules.read(options, { subject: "Cannot start", path: "stripe" });
  const { apiKey, toleranceMs } = read;
  const keys = hmacKeysOf(secretsOf(read.webhookSecret));
  const client = clientOf(read);
  return {
    name: stripeName,
    isSigned: keys.length > 0,
    isLive: /^[rs]k_(live|test)_/.test(apiKey) ? apiKey.slice(3, 7) === "live" : null,
    createCheckout: (checkout) => calling(() => createCheckout(client, checkout)),
    createPortal: (customer, returnUrl) =>
      calling(async () => {
        const session = await client.billingPortal.sessions.create({
          customer,
          ...(returnUrl === undefined ? {} : { return_url: returnUrl }),
        });
        return { url: answered(session, "url") };
      }),
    listSubscriptions: (customer) =>
      calling(async () => {
        const pages = client.subscriptions.list({ customer, status: "all", limit: 100 });
        const all = await pages.autoPagingToArray({ limit: maxListed + 1 });
        if (all.length > maxListed) {
          throw new Error(`There are more than ${maxListed} subscriptions`);
        }
        return all.map(subscriptionOf);
      }),
    getSubscription: (id) =>
      calling(async () => {
        try {
          return subscriptionOf(await client.subscriptions.retrieve(id));
        } catch (error) {
          if (error instanceof Stripe.errors.StripeError && error.statusCode === 404) return null;
          throw error;
        }
      }),
    cancelSubscription: (id, { atPeriodEnd }) =>
      calling(async () =>
        subscriptionOf(
          atPeriodEnd
            ? await client.subscriptions.update(id, { cancel_at_period_end: true })
            : await client.subscriptions.cancel(id),
        )
      ),
    updateSubscription: (id, { priceId }) =>
      calling(async () => {
        const { items } = await client.subscriptions.retrieve(id);
        const [item] = items.data;
        if (item === undefined) throw new Error(`The subscription ${id} has no item`);
        const changed = [{ id: item.id, price: priceId }];
        return subscriptionOf(await client.subscriptions.update(id, { items: changed }));
      }),
    reportUsage: (report) => calling(() => reportUsage(client, report)),
    async readDelivery(delivery) {
      if (keys.length > 0) await verifyTimedSignature(delivery, signature, { keys, toleranceMs });
      return readStripeEvent(parseDelivery(delivery));
    },
    findPrices: (event) => calling(() => findPrices(client, event)),
  };
}

/**
 * The header `stripe-signature`: `t=<seconds>,v1=<hex>`
 * (https://docs.stripe.com/webhooks#verify-manually). Stripe's own library is not used, because it
 * accepts any time in the future.
 */
const signature = {
  ...{ header: "stripe-signature", separator: ",", time: "t", code: "v1", joint: "." },
} as const;

function clientOf(
  { apiKey, apiVersion, baseUrl, timeoutMs, fetch: send }: ReturnType<
    typeof stripeOptionRules.read
  >,
): Stripe {
  const url = baseUrl === undefined ? null : new URL(baseUrl);
  return new Stripe(apiKey, {
    // The default HTTP client of Stripe's library needs Node modules that some platforms lack.
    httpClient: Stripe.createFetchHttpClient(send),
    timeout: timeoutMs,
    telemetry: false,
    // The library's type allows only its own version, but Stripe accepts other versions.
    ...(apiVersion === undefined ? {} : { apiVersion: apiVersion as Stripe.LatestApiVersion }),
    ...(url === null ? {} : {
      host: url.hostname,
      port: url.port === "" ? (url.protocol === "http:" ? 80 : 443) : Number(url.port),
      protocol: url.protocol === "http:" ? "http" : "https",
    }),
  });
}

async function createCheckout(client: Stripe, checkout: ProviderCheckout) {
  const { mode, items, metadata, customerId, customerEmail, accountId } = checkout;
  const session = await client.checkout.sessions.create({
    mode,
    line_items: items.map(({ priceId, quantity }) => ({ price: priceId, quantity })),
    client_reference_id: accountId,
    metadata,
    // Stripe does not copy a session's metadata, so the subscription or payment gets its own copy.
    ...(mode === "subscription"
      ? { subscription_data: { metadata } }
      : { payment_intent_data: { metadata } }),
    ...(customerId !== undefined
      ? { customer: customerId }
      : customerEmail !== undefined
      ? { customer_email: customerEmail }
      : {}),
    // Later events may name only the customer, so Stripe must also create a customer for a payment.
    ...(customerId === undefined && mode === "payment" ? { customer_creation: "always" } : {}),
    ...(checkout.successUrl === undefined ? {} : { success_url: checkout.successUrl }),
    ...(checkout.cancelUrl === undefined ? {} : { cancel_url: checkout.cancelUrl }),
  }, { idempotencyKey: checkout.idempotencyKey });
  return { id: answered(session, "id"), url: answered(session, "url") };
}

/** Reports usage to a meter (docs.stripe.com/billing/subscriptions/usage-based). */
async function reportUsage(client: Stripe, report: UsageReport): Promise<void> {
  if (report.action !== "increment") {
    throw new Problem(
      "billing-unsupported",
      `Cannot ${report.action} usage: Stripe's meters only take action "increment"`,
    );
  }
  const item = await client.subscriptionItems.retrieve(report.subscriptionItemId);
  const meterId = item.price.recurring?.meter;
  if (meterId === undefined || meterId === null) throw new Error("The price has no meter");
  const [meter, { customer }] = await Promise.all([
    client.billing.meters.retrieve(meterId),
    client.subscriptions.retrieve(item.subscription),
  ]);
  await client.billing.meterEvents.create({
    event_name: meter.event_name,
    identifier: report.idempotencyKey,
    payload: {
      [meter.customer_mapping.event_payload_key]: typeof customer === "string"
        ? customer
        : customer.id,
      [meter.value_settings.event_payload_key]: String(report.quantity),
    },
  }, { idempotencyKey: report.idempotencyKey });
}

/** Reads all prices. Invoice events contain at most ten, and a payment link's event has none. */
async function findPrices(client: Stripe, { raw }: VendorEvent): Promise<readonly PaidPrice[]> {
  const object = new JsonFields(raw).at("data").at("object");
  const [id, kind] = [object.text("id"), object.text("object")];
  if (id === undefined) return [];
  const most = { limit: maxListed + 1 };
  if (kind === "invoice") {
    const lines = await client.invoices.listLineItems(id, { limit: 100 }).autoPagingToArray(most);
    return lines.length > maxListed
      ? []
      : invoicePrices(object, lines.map((line) => new JsonFields(line)));
  }
  if (kind !== "checkout.session") return [];
  const items = await client.checkout.sessions.listLineItems(id, { limit: 100 })
    .autoPagingToArray(most);
  if (items.length > maxListed) return [];
  return items.flatMap(({ price, quantity, amount_total: amount }) =>
    price === null ? [] : [{ ids: [price.id], quantity: quantity ?? 1, amount }]
  );
}

/** Returns a member of a response. Throws if it is missing, which the library does not check. */
function answered(object: object, name: string): string {
  const text = new JsonFields(object).text(name);
  if (text === undefined) throw new Error(`Stripe's answer has no ${name}`);
  return text;
}

function subscriptionOf(object: Stripe.Subscription): BillingSubscription {
  const subscription = stripeSubscription(new JsonFields(object));
  if (subscription === null) throw new Error("Stripe's answer is no subscription");
  return subscription;
}

async function calling<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Problem ? error : providerProblem(stripeName, error);
  }
}
