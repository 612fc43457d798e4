import { assert, assertEquals } from "@std/assert";
import type { BillingOptions } from "../../src/billing/open_billing.ts";
import { type Delivery, ours, type VendorName } from "./signing.ts";
import { providerOf, type TestBilling, testBilling } from "./vendors.ts";

const created = 1_790_000_000;

function event(id: string, type: string, object: object, { at = created, livemode = false } = {}) {
  return { body: { ...{ id, type, created: at, livemode }, data: { object } } };
}

function invoice(id: string, facts: object = {}) {
  return {
    ...{ id, customer: "cus_1", amount_paid: 2000, currency: "usd" },
    billing_reason: "subscription_create",
    lines: { data: [{ quantity: 1, price: { id: "price_pro" }, metadata: { accountId: "ada" } }] },
    ...facts,
  };
}

async function inStripe(
  work: (world: TestBilling) => Promise<void>,
  options: Partial<BillingOptions> = {},
  vendor: VendorName = "stripe",
): Promise<void> {
  const world = await testBilling(vendor, options);
  try {
    await work(world);
  } finally {
    await world.close();
  }
}

async function balanceAfter(
  deliveries: readonly Delivery[],
  options: Partial<BillingOptions> = {},
  vendor: VendorName = "stripe",
): Promise<number> {
  let balance = NaN;
  await inStripe(
    async ({ deliver, billing }) => {
      for (const delivery of deliveries) assertEquals(await deliver(delivery), 200);
      balance = await billing.credits.balance("ada");
    },
    options,
    vendor,
  );
  return balance;
}

Deno.test("a payment of nothing grants only where that is set", async () => {
  const free = [event("evt_1", "invoice.paid", invoice("in_1", { amount_paid: 0 }))];
  assertEquals(await balanceAfter(free), 0);
  assertEquals(await balanceAfter(free, { grantOnZeroAmount: true }), 100);
  const note = [event("evt_1", "invoice.paid", invoice("in_1", { amount_paid: -5 }))];
  assertEquals(await balanceAfter(note, { grantOnZeroAmount: true }), 0);
});

Deno.test("lines of proration grant nothing, whatever the reason of their invoice", async () => {
  const line = { quantity: 1, price: { id: "price_pro" }, metadata: { accountId: "ada" } };
  const lines = (more: object) => ({ lines: { data: [line, { ...line, ...more }] } });
  for (
    const proration of [
      { proration: true },
      { parent: { subscription_item_details: { proration: true } } },
    ]
  ) {
    const renewal = invoice("in_1", { billing_reason: "subscription_cycle", ...lines(proration) });
    assertEquals(await balanceAfter([event("evt_1", "invoice.paid", renewal)]), 100);
    const change = invoice("in_1", {
      ...{ billing_reason: "subscription_update", lines: { data: [{ ...line, ...proration }] } },
    });
    assertEquals(await balanceAfter([event("evt_1", "invoice.paid", change)]), 0);
  }
});

Deno.test("credits follow the price and the quantity that were paid", async () => {
  const line = (priceId: string, quantity: number) => ({
    ...{ quantity, price: { id: priceId }, metadata: { accountId: "ada", planKey: "pro" } },
    ...{ pricing: undefined },
  });
  const paid = (
    ...data: object[]
  ) => [event("evt_1", "invoice.paid", invoice("in_1", { lines: { data } }))];
  assertEquals(await balanceAfter(paid(line("price_pro", 3))), 300);
  assertEquals(await balanceAfter(paid(line("price_pro", 1), line("price_pack", 2))), 200);
  assertEquals(await balanceAfter(paid(line("price_cheap", 1))), 0, "whatever the metadata say");
});

Deno.test("events of test mode are refused by a live provider, and live ones in test mode", async () => {
  for (const [apiKey, livemode] of [["sk_live_1", false], ["sk_test_1", true]] as const) {
    const { stripe } = await import("../../src/billing/providers/stripe/stripe_provider.ts");
    const provider = stripe({ apiKey, webhookSecret: "whsec_of_the_tests" });
    await inStripe(async ({ deliver, billing, seen, observations }) => {
      const wrong = event("evt_1", "invoice.paid", invoice("in_1"), { livemode });
      assertEquals(await deliver(wrong), 400);
      assertEquals([await billing.credits.balance("ada"), seen], [0, []]);
      assertEquals(observations.map(({ kind }) => kind), ["webhook_refused"]);
      const right = event("evt_1", "invoice.paid", invoice("in_1"), { livemode: !livemode });
      assertEquals(await deliver(right), 200);
    }, { provider });
  }
  await inStripe(
    async ({ deliver }) => {
      const body = {
        meta: { event_name: "order_created", test_mode: false },
        data: { type: "orders", id: "1", attributes: { updated_at: "2026-11-01T10:00:00Z" } },
      };
      assertEquals(await deliver({ body }), 400);
    },
    {},
    "lemon-squeezy",
  );
});

Deno.test("the account is that of resolveAccount, accountId, userId, an earlier event, the customer", async () => {
  const paid = (n: number, metadata: object) =>
    event(`evt_${n}`, "invoice.paid", {
      ...invoice(`in_${n}`),
      lines: { data: [{ quantity: 1, price: { id: "price_pro" }, metadata }] },
    });
  await inStripe(async ({ deliver, seen }) => {
    await deliver(paid(1, {}));
    await deliver(paid(2, { userId: "uma", accountId: "" }));
    await deliver(paid(3, {}));
    await deliver(paid(4, { userId: "uma", accountId: "ada" }));
    await deliver(paid(5, {}));
    assertEquals(seen.map(({ accountId }) => accountId), ["cus_1", "uma", "uma", "ada", "ada"]);
    assertEquals(seen[0], {
      ...{ id: "evt_1", type: "payment.succeeded", provider: "stripe", metadata: {} },
      ...{ occurredAt: new Date(created * 1000).toISOString(), customerId: "cus_1" },
      ...{ payment: { id: "in_1", amount: 2000, currency: "usd" }, accountId: "cus_1" },
      ...{ planKey: "pro", creditsToGrant: 100, raw: paid(1, {}).body },
    });
  });
  const resolveAccount = ({ customerId }: { customerId?: string }) => `team of ${customerId}`;
  await inStripe(async ({ deliver, billing }) => {
    await deliver(paid(1, { accountId: "ada" }));
    assertEquals(await billing.credits.balance("team of cus_1"), 100);
  }, { resolveAccount });
});

Deno.test("a payment that is reported for two accounts is granted to the first", async () => {
  await inStripe(async ({ deliver, billing }) => {
    const of = (accountId: string) => ({
      lines: { data: [{ quantity: 1, price: { id: "price_pro" }, metadata: { accountId } }] },
    });
    await deliver(event("evt_1", "invoice.paid", invoice("in_1", of("ada"))));
    await deliver(event("evt_2", "invoice.payment_succeeded", invoice("in_1", of("bob"))));
    assertEquals([await billing.credits.balance("ada"), await billing.credits.balance("bob")], [
      100,
      0,
    ]);
  });
});

Deno.test("a plan that changes between two tries does not change a grant", async () => {
  const { createMemoryKeyValue } = await import("../../src/kv/memory_key_value.ts");
  const { systemClock } = await import("../../src/runtime/system_runtime.ts");
  const kv = createMemoryKeyValue(systemClock);
  const delivery = event("evt_1", "invoice.paid", invoice("in_1"));
  const failing = () => {
    throw new Error("not now");
  };
  await inStripe(async ({ deliver }) => {
    assertEquals(await deliver(delivery), 500);
  }, { kv, onEvent: failing });
  await inStripe(async ({ deliver, billing }) => {
    assertEquals(await deliver(delivery), 200);
    assertEquals(await deliver(delivery), 200);
    assertEquals(await billing.credits.balance("ada"), 100);
  }, { kv, plans: [{ key: "pro", priceId: "price_pro", credits: 999 }] });
});

Deno.test("autoGrantCredits: false leaves the grant to the callback", async () => {
  await inStripe(async ({ deliver, billing, seen }) => {
    await deliver(event("evt_1", "invoice.paid", invoice("in_1")));
    assertEquals([await billing.credits.balance("ada"), seen[0]?.creditsToGrant], [0, 100]);
  }, { autoGrantCredits: false });
});

Deno.test("a late event brings no canceled subscription back", async () => {
  const sub = (status: string) => ({
    ...{ id: "sub_1", customer: "cus_1", status, metadata: { accountId: "ada" } },
    items: { data: [{ price: { id: "price_pro" } }] },
  });
  await inStripe(async ({ deliver, seen }) => {
    const deleted = sub("canceled");
    await deliver(event("evt_3", "customer.subscription.deleted", deleted, { at: created + 9 }));
    await deliver(event("evt_1", "customer.subscription.created", sub("active"), { at: created }));
    await deliver(
      event("evt_2", "customer.subscription.updated", sub("active"), { at: created + 5 }),
    );
    assertEquals(seen.map(({ type, subscription }) => [type, subscription?.status]), [
      ["subscription.canceled", "canceled"],
      ["subscription.created", "canceled"],
      ["subscription.updated", "canceled"],
    ]);
  });
  // Within one second the provider is asked; where it does not answer, an end is final.
  for (const statusNow of ["past_due", null]) {
    const fetch: typeof globalThis.fetch = () =>
      statusNow === null
        ? Promise.reject(new TypeError("down"))
        : Promise.resolve(Response.json({ object: "subscription", ...sub(statusNow) }));
    await inStripe(async ({ deliver, seen }) => {
      await deliver(event("evt_2", "customer.subscription.deleted", sub("canceled")));
      await deliver(event("evt_1", "customer.subscription.updated", sub("active")));
      assertEquals(seen[1]?.subscription?.status, statusNow ?? "canceled");
    }, { provider: providerOf("stripe", { fetch }) });
  }
});

Deno.test("statuses that a vendor adds later are incomplete, never active", async () => {
  await inStripe(async ({ deliver, seen }) => {
    const object = { id: "sub_1", customer: "cus_1", status: "brand_new" };
    await deliver(event("evt_1", "customer.subscription.updated", object));
    assertEquals(seen[0]?.subscription?.status, "incomplete");
    await deliver(event("evt_2", "charge.refunded", { id: "ch_1" }));
    await deliver(event("evt_3", "something.new", null as unknown as object));
    assertEquals(seen.slice(1).map(({ type }) => type), ["unknown", "unknown"]);
  });
});

Deno.test("a callback that refuses with a 4xx is a 5xx to the provider", async () => {
  const { Problem } = await import("../../src/problem/problem.ts");
  await inStripe(async ({ deliver, observations }) => {
    assertEquals(await deliver(event("evt_1", "invoice.paid", invoice("in_1"))), 500);
    assert(observations.some(({ kind }) => kind === "request_failed"));
  }, {
    onEvent() {
      throw new Problem("not-found", "no such user");
    },
  });
});

Deno.test("a refund is reversed by the key of its grant", async () => {
  await inStripe(async ({ deliver, billing: { credits } }) => {
    await deliver(event("evt_1", "invoice.paid", invoice("in_1")));
    await credits.consume("ada", 80);
    await credits.reverse("grant:stripe:in_1", { amount: 50, key: "reverse:re_1" });
    assertEquals(await credits.balance("ada"), -30);
  });
});

Deno.test("refunds that a callback reverses by their ids take once each, however often they come", async () => {
  let credits: TestBilling["billing"]["credits"] | undefined;
  await inStripe(async ({ deliver, billing }) => {
    credits = billing.credits;
    await deliver(event("evt_1", "invoice.paid", invoice("in_1")));
    const refund = (id: string) =>
      event(`evt_of_${id}`, "refund.created", { id, object: "refund", amount: 600 });
    // The last event is sent again by hand, under another id of the delivery.
    const again = event("evt_5", "refund.created", { id: "re_1", object: "refund", amount: 600 });
    for (const one of [refund("re_1"), refund("re_1"), refund("re_2"), again, refund("re_2")]) {
      assertEquals(await deliver(one), 200);
    }
    assertEquals(await credits.balance("ada"), 40);
  }, {
    async onEvent({ type, raw }) {
      const { data } = Object(raw);
      if (type !== "unknown" || data.object.object !== "refund") return;
      const { id, amount } = data.object;
      await credits?.reverse("grant:stripe:in_1", { amount: amount / 20, key: `refund:${id}` });
    },
  });
});

Deno.test("Lemon Squeezy: a renewal finds its variant at the vendor, and fails until it does", async () => {
  let isUp = false;
  const fetch: typeof globalThis.fetch = () =>
    Promise.resolve(
      isUp
        ? Response.json({
          data: {
            ...{ type: "subscriptions", id: "21" },
            attributes: { customer_id: 77, variant_id: 901, status: "active" },
          },
        })
        : new Response("down", { status: 503 }),
    );
  await inStripe(
    async ({ deliver, billing }) => {
      const body = {
        meta: { event_name: "subscription_payment_success", custom_data: ours("lemon-squeezy") },
        data: {
          ...{ type: "subscription-invoices", id: "31" },
          attributes: { subscription_id: 21, total: 2000, updated_at: "2026-11-01T10:00:00Z" },
        },
      };
      assertEquals(await deliver({ body }), 502);
      assertEquals(await billing.credits.balance("ada"), 0);
      isUp = true;
      assertEquals(await deliver({ body }), 200);
      assertEquals(await billing.credits.balance("ada"), 100);
    },
    { provider: providerOf("lemon-squeezy", { fetch }) },
    "lemon-squeezy",
  );
});
