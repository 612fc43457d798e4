import { assertEquals } from "@std/assert";
import type { BillingProvider } from "../../src/billing/providers/billing_provider.ts";
import { refuses } from "../conformance/credits_ledger.ts";
import type { VendorName } from "./signing.ts";
import { providerOf } from "./vendors.ts";

/** A call as the vendor received it, without its authorization. */
type Call = readonly [method: string, path: string, body?: unknown];

const lemon = {
  data: {
    ...{ type: "subscriptions", id: "21" },
    attributes: {
      ...{ customer_id: 77, variant_id: 901, status: "cancelled", cancelled: true },
      ...{ renews_at: null, ends_at: "2026-12-01T10:00:00.000000Z" },
    },
  },
};
const paddleOne = {
  ...{ id: "sub_1", status: "active", customer_id: "ctm_1", custom_data: { accountId: "ada" } },
  scheduled_change: { action: "cancel" },
  items: [{ price: { id: "pri_1" } }],
  current_billing_period: { starts_at: "2026-11-01T10:00:00Z", ends_at: "2026-12-01T10:00:00Z" },
};
const polarOne = {
  ...{ id: "sub-1", status: "trialing", customer_id: "c-1", product_id: "prod-1", metadata: {} },
  ...{ current_period_start: "2026-11-01T10:00:00Z", current_period_end: null },
  cancel_at_period_end: false,
};

interface Shapes {
  readonly one: unknown;
  readonly list: unknown;
  readonly subscription: unknown;
  /** What get, list, cancel at the end, cancel at once, update, usage and portal send. */
  readonly calls: readonly (readonly [keyof typeof operations, readonly Call[] | string])[];
}

const operations = {
  get: (provider: BillingProvider) => provider.getSubscription("sub/1"),
  list: (provider: BillingProvider) => provider.listSubscriptions("c 1"),
  cancel: (provider: BillingProvider) => provider.cancelSubscription("s", { atPeriodEnd: true }),
  cancelNow: (provider: BillingProvider) =>
    provider.cancelSubscription("s", { atPeriodEnd: false }),
  update: (provider: BillingProvider) => provider.updateSubscription("s", { priceId: "902" }),
  usage: (provider: BillingProvider) =>
    provider.reportUsage?.({
      ...{ subscriptionItemId: "5", quantity: 3, action: "increment", idempotencyKey: "k" },
    }),
  setUsage: (provider: BillingProvider) =>
    provider.reportUsage?.({
      ...{ subscriptionItemId: "5", quantity: 3, action: "set", idempotencyKey: "k" },
    }),
};

const usageRecord = (action: string): Call => ["POST", "/v1/usage-records", {
  data: {
    type: "usage-records",
    attributes: { quantity: 3, action },
    relationships: { "subscription-item": { data: { type: "subscription-items", id: "5" } } },
  },
}];

/** By the vendors' documented shapes, except that of Stripe, whose own mock judges it. */
const shapes: Readonly<Record<Exclude<VendorName, "stripe">, Shapes>> = {
  "lemon-squeezy": {
    one: lemon,
    list: { data: [lemon.data] },
    subscription: {
      ...{ id: "21", customerId: "77", provider: "lemon-squeezy", status: "canceled" },
      ...{ priceId: "901", currentPeriodEnd: "2026-12-01T10:00:00.000Z", cancelAtPeriodEnd: true },
    },
    calls: [
      ["get", [["GET", "/v1/subscriptions/sub%2F1"]]],
      ["list", [["GET", "/v1/customers/c%201/subscriptions?page%5Bsize%5D=100"]]],
      ["cancel", [["DELETE", "/v1/subscriptions/s"]]],
      ["cancelNow", "billing-unsupported"],
      ["update", [["PATCH", "/v1/subscriptions/s", {
        data: { type: "subscriptions", id: "s", attributes: { variant_id: 902 } },
      }]]],
      ["usage", [usageRecord("increment")]],
      ["setUsage", [usageRecord("set")]],
    ],
  },
  paddle: {
    one: { data: paddleOne },
    list: { data: [paddleOne] },
    subscription: {
      ...{ id: "sub_1", customerId: "ctm_1", provider: "paddle", status: "active" },
      ...{ metadata: { accountId: "ada" }, cancelAtPeriodEnd: true, priceId: "pri_1" },
      currentPeriodStart: "2026-11-01T10:00:00.000Z",
      currentPeriodEnd: "2026-12-01T10:00:00.000Z",
    },
    calls: [
      ["get", [["GET", "/subscriptions/sub%2F1"]]],
      ["list", [["GET", "/subscriptions?customer_id=c+1&per_page=200"]]],
      ["cancel", [["POST", "/subscriptions/s/cancel", { effective_from: "next_billing_period" }]]],
      ["cancelNow", [["POST", "/subscriptions/s/cancel", { effective_from: "immediately" }]]],
      ["update", [["PATCH", "/subscriptions/s", {
        items: [{ price_id: "902", quantity: 1 }],
        proration_billing_mode: "prorated_immediately",
      }]]],
      ["usage", []],
    ],
  },
  polar: {
    one: polarOne,
    list: { items: [polarOne] },
    subscription: {
      ...{ id: "sub-1", customerId: "c-1", provider: "polar", status: "trialing", metadata: {} },
      ...{ priceId: "prod-1", currentPeriodStart: "2026-11-01T10:00:00.000Z" },
      cancelAtPeriodEnd: false,
    },
    calls: [
      ["get", [["GET", "/v1/subscriptions/sub%2F1"]]],
      ["list", [["GET", "/v1/subscriptions/?customer_id=c+1&limit=100"]]],
      ["cancel", [["PATCH", "/v1/subscriptions/s", { cancel_at_period_end: true }]]],
      ["cancelNow", [["DELETE", "/v1/subscriptions/s"]]],
      ["update", [["PATCH", "/v1/subscriptions/s", { product_id: "902" }]]],
      ["usage", [["GET", "/v1/subscriptions/5"], ["POST", "/v1/events/ingest", {
        events: [{
          ...{ name: "usage", external_id: "k", customer_id: "c-1" },
          metadata: { quantity: 3, subscriptionId: "sub-1" },
        }],
      }]]],
      ["setUsage", "billing-unsupported"],
    ],
  },
};

for (const [vendor, { one, list, subscription, calls }] of Object.entries(shapes)) {
  Deno.test(`${vendor}: subscriptions and usage are those of its API`, async () => {
    for (const [name, expected] of calls) {
      const received: Call[] = [];
      const send: typeof fetch = async (input, init) => {
        const request = new Request(input, init);
        const { pathname, search } = new URL(request.url);
        const text = await request.text();
        const call = [request.method, pathname + search] as const;
        received.push(text === "" ? call : [...call, JSON.parse(text)]);
        return Response.json(name === "list" ? list : one);
      };
      // Its keys are the vendors.
      const provider = providerOf(vendor as VendorName, { fetch: send });
      if (typeof expected === "string") {
        await refuses(async () => await operations[name](provider), expected);
        continue;
      }
      const answer = await operations[name](provider);
      assertEquals(received, [...expected], name);
      if (name === "list") assertEquals(answer, [subscription] as unknown);
      else if (!name.endsWith("sage")) assertEquals(answer, subscription as unknown);
    }
  });

  Deno.test(`${vendor}: a subscription that is not there is null, and what is none a failure`, async () => {
    const answering = (answer: () => Response) =>
      providerOf(vendor as VendorName, { fetch: () => Promise.resolve(answer()) });
    const missing = answering(() => Response.json({}, { status: 404 }));
    assertEquals(await missing.getSubscription("x"), null);
    await refuses(() => missing.updateSubscription("x", { priceId: "1" }), "billing-failed");
    for (const body of ["{}", "[]", "null", "5", "<html>", "\xff"]) {
      await refuses(
        () => answering(() => new Response(body)).getSubscription("x"),
        "billing-failed",
      );
    }
    const huge = () => new Response("x".repeat(5 * 1024 * 1024));
    await refuses(() => answering(huge).getSubscription("x"), "billing-failed");
    const moved = () => Response.redirect("https://elsewhere.example/");
    await refuses(() => answering(moved).getSubscription("x"), "billing-failed");
  });
}

Deno.test("a call of a provider ends after timeoutMs", async () => {
  const end = Promise.withResolvers<Response>();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => end.promise.then(() => new Response()),
  );
  const baseUrl = `http://127.0.0.1:${server.addr.port}`;
  for (const vendor of ["stripe", "paddle"] as const) {
    const provider = providerOf(vendor, { baseUrl, timeoutMs: 50, fetch: undefined });
    await refuses(() => provider.getSubscription("sub_1"), "billing-failed");
  }
  end.resolve(new Response());
  await server.shutdown();
});
