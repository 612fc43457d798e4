import { assertEquals, assertNotEquals } from "@std/assert";
import type { BillingOptions } from "../../src/billing/open_billing.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { systemClock } from "../../src/runtime/system_runtime.ts";
import { type Delivery, ours, type VendorName, vendorNames } from "./signing.ts";
import { providerOf, type TestBilling, testBilling } from "./vendors.ts";

type Metadata = Readonly<Record<string, string>>;

let count = 0;

/** A payment of 20.00 for "pro" by a customer, as each vendor reports it. */
function payment(vendor: VendorName, customer: string, metadata: Metadata): Delivery {
  const id = `p${++count}`;
  const at = "2026-11-01T10:00:00Z";
  switch (vendor) {
    case "stripe":
      return stripeEvent("invoice.paid", {
        ...{ id, object: "invoice", customer, total: 2000, amount_paid: 2000, currency: "usd" },
        parent: { subscription_details: { subscription: `sub_${id}`, metadata } },
        lines: {
          data: [{ quantity: 1, amount: 2000, pricing: { price_details: { price: "price_pro" } } }],
        },
      });
    case "lemon-squeezy":
      return {
        body: {
          meta: { event_name: "order_created", test_mode: true, custom_data: metadata },
          data: {
            ...{ type: "orders", id },
            attributes: {
              ...{ customer_id: customer, status: "paid", total: 2000, updated_at: at },
              first_order_item: { variant_id: 902, quantity: 2 },
            },
          },
        },
      };
    case "paddle":
      return {
        body: {
          ...{ event_id: id, event_type: "transaction.completed", occurred_at: at },
          data: {
            ...{ id, customer_id: customer, custom_data: metadata, origin: "web" },
            items: [{ quantity: 1, price: { id: "price_pro" } }],
            details: { totals: { total: "2000", grand_total: "2000" } },
          },
        },
      };
    case "polar":
      return {
        id,
        body: {
          ...{ type: "order.paid", timestamp: at },
          data: {
            ...{ id, customer_id: customer, product_id: "price_pro", metadata },
            ...{ billing_reason: "purchase", total_amount: 2000 },
          },
        },
      };
  }
}

function stripeEvent(type: string, object: object): Delivery {
  const head = { id: `evt_${++count}`, type, created: 1_790_000_000, livemode: false };
  return { body: { ...head, data: { object } } };
}

interface World extends TestBilling {
  /** The customer whose subscriptions the routes ask the vendor for. */
  customerOf(user: string): Promise<string | undefined>;
  /** The metadata that a checkout of a user sends to the vendor. */
  checkout(user: string): Promise<Metadata>;
}

async function inWorld(
  vendor: VendorName,
  work: (world: World) => Promise<void>,
  options: Partial<BillingOptions> = {},
): Promise<void> {
  let last = { url: "", body: "" };
  const send: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    last = { url: decodeURIComponent(request.url), body: await request.text() };
    const isList = request.method === "GET";
    const one = { id: "1", url: "https://pay.example/1", checkout: { url: "https://pay.example" } };
    const data = { ...one, attributes: one };
    return Response.json(isList ? { data: [], items: [] } : { ...one, data });
  };
  const world = await testBilling(vendor, {
    provider: providerOf(vendor, { fetch: send }),
    ...options,
  });
  try {
    await work({
      ...world,
      async customerOf(user) {
        last = { url: "", body: "" };
        await (await world.send("/subscription", { user })).body?.cancel();
        return /customer(?:_id)?[=/]([\w-]+)/.exec(last.url.replace("customers/", "customer/"))
          ?.[1];
      },
      async checkout(user) {
        const planKey = vendor === "lemon-squeezy" ? "pro-ls" : "pro";
        const headers = { "content-type": "application/json" };
        const body = JSON.stringify({ planKey });
        const answer = await world.send("/checkout", { user, method: "POST", headers, body });
        assertEquals(answer.status, 200);
        await answer.body?.cancel();
        return metadataIn(vendor, last.body);
      },
    });
  } finally {
    await world.close();
  }
}

function metadataIn(vendor: VendorName, body: string): Metadata {
  switch (vendor) {
    case "stripe":
      return Object.fromEntries(
        [...new URLSearchParams(body)].flatMap(([name, value]) => {
          const key = /^subscription_data\[metadata\]\[(\w+)\]$/.exec(name)?.[1];
          return key === undefined ? [] : [[key, value]];
        }),
      );
    case "lemon-squeezy":
      return JSON.parse(body).data.attributes.checkout_data.custom;
    case "paddle":
      return JSON.parse(body).custom_data;
    case "polar":
      return JSON.parse(body).metadata;
  }
}

const browserSets: readonly VendorName[] = ["lemon-squeezy", "paddle"];

for (const vendor of vendorNames) {
  Deno.test(`${vendor}: a checkout of the service names its account, by a code that covers it`, async () => {
    await inWorld(vendor, async ({ checkout, deliver, billing, customerOf }) => {
      const metadata = await checkout("ada");
      const prices = vendor === "lemon-squeezy" ? "901*1" : "price_pro*1";
      assertEquals(metadata.checkoutCode, ours(vendor, { prices }).checkoutCode);
      assertNotEquals((await checkout("bob")).checkoutCode, metadata.checkoutCode);
      assertEquals(await deliver(payment(vendor, "c-mine", metadata)), 200);
      assertEquals(await billing.credits.balance("ada"), 100);
      assertEquals(await customerOf("ada"), "c-mine");
      assertEquals(await deliver(payment(vendor, "c-new", metadata)), 200);
      assertEquals(await customerOf("ada"), "c-new", "the one who has last paid");
    });
  });

  Deno.test(`${vendor}: the customer of an account stays with it, whatever a stranger's event says`, async () => {
    await inWorld(vendor, async (world) => {
      const { checkout, deliver, billing, customerOf, seen, observations, send } = world;
      const mine = await checkout("ada");
      const strangers = await checkout("eve");
      await deliver(payment(vendor, "c-mine", mine));
      const forged: readonly Metadata[] = [
        {},
        { accountId: "ada" },
        { userId: "ada" },
        { ...strangers, accountId: "ada" },
        { ...mine, prices: "price_pro*9", checkoutCode: `${mine.checkoutCode}` },
        { ...mine, checkoutCode: String(mine.checkoutCode).replace("subscription", "payment") },
        { ...mine, checkoutCode: String(mine.checkoutCode).slice(0, -1) },
        { ...mine, checkoutCode: "" },
        { ...mine, checkoutCode: "subscription." },
        ours(vendor, { secret: "another secret of the service" }),
        ours(vendor === "paddle" ? "polar" : "paddle"),
      ];
      const believed = browserSets.includes(vendor) ? [] : forged.slice(1);
      for (const metadata of forged) {
        if (believed.includes(metadata)) continue;
        await deliver(payment(vendor, "c-eve", metadata));
        assertEquals(seen.at(-1)?.accountId, "c-eve", JSON.stringify(metadata));
        assertEquals(await customerOf("ada"), "c-mine", JSON.stringify(metadata));
      }
      assertEquals(await billing.credits.balance("ada"), 100);
      // With the address of another person at the vendor's page.
      if (vendor === "stripe") return;
      await deliver(payment(vendor, "c-mine", strangers));
      assertEquals(seen.at(-1)?.isCustomerOfOther, true);
      const notLinked = observations.filter(({ kind }) => kind === "customer_not_linked");
      assertEquals(Object(notLinked).length, 1);
      assertEquals([await customerOf("ada"), await customerOf("eve")], ["c-mine", undefined]);
      assertEquals(await billing.credits.balance("eve"), 100);
      const portal = await send("/portal", { user: "eve", method: "POST" });
      assertEquals(portal.status, vendor === "paddle" ? 501 : 404);
      await portal.body?.cancel();
      await deliver(payment(vendor, "c-mine", {}));
      assertEquals(await billing.credits.balance("ada"), 200);
      // With an own address: the customer of the other account never was the one of this.
      await deliver(payment(vendor, "c-of-eve", strangers));
      assertEquals([await customerOf("ada"), await customerOf("eve")], ["c-mine", "c-of-eve"]);
      await deliver(payment(vendor, "c-of-eve", mine));
      assertEquals([await customerOf("ada"), await customerOf("eve")], ["c-mine", "c-of-eve"]);
    });
  });

  Deno.test(`${vendor}: a renewal without a code is attributed by the customer that is linked`, async () => {
    const kv = createMemoryKeyValue(systemClock);
    const before = "the first secret of the service";
    const after = "the second secret of the service";
    await inWorld(vendor, async ({ checkout, deliver }) => {
      await deliver(payment(vendor, "c-mine", await checkout("ada")));
    }, { kv, secret: before });
    await inWorld(vendor, async ({ deliver, billing, customerOf }) => {
      await deliver(payment(vendor, "c-mine", { accountId: "ada", prices: "price_pro*1" }));
      assertEquals(await billing.credits.balance("ada"), 200);
      assertEquals(await customerOf("ada"), "c-mine");
    }, { kv, secret: after });
    await inWorld(vendor, async ({ checkout, deliver, billing }) => {
      await deliver(payment(vendor, "c-bob", ours(vendor, { accountId: "bob", secret: before })));
      assertEquals(await billing.credits.balance("bob"), 100, "a list rotates");
      assertEquals(
        (await checkout("bob")).checkoutCode,
        ours(vendor, {
          ...{ accountId: "bob", secret: after },
          prices: vendor === "lemon-squeezy" ? "901*1" : "price_pro*1",
        }).checkoutCode,
      );
    }, { kv, secret: [after, before] });
  });

  Deno.test(`${vendor}: without a secret the store keeps one, for all processes and after one is set`, async () => {
    const kv = createMemoryKeyValue(systemClock);
    let metadata: Metadata = {};
    await inWorld(vendor, async ({ checkout }) => {
      metadata = await checkout("ada");
    }, { kv, secret: undefined });
    for (const secret of [undefined, "a secret that was set later"]) {
      await inWorld(vendor, async ({ deliver, seen }) => {
        await deliver(payment(vendor, "c-mine", metadata));
        assertEquals(seen[0]?.accountId, "ada");
      }, { kv, secret });
    }
  });

  Deno.test(`${vendor}: resolveAccount decides, also for metadata that a browser can set`, async () => {
    await inWorld(vendor, async ({ deliver, billing, customerOf }) => {
      await deliver(payment(vendor, "c-1", { team: "t" }));
      assertEquals(await billing.credits.balance("t"), 100);
      assertEquals(await customerOf("t"), "c-1");
    }, { resolveAccount: ({ metadata }) => metadata?.team });
  });
}

Deno.test("Stripe: client_reference_id of a payment link, paid or not, is no account", async () => {
  await inWorld("stripe", async ({ deliver, billing, customerOf, checkout, seen }) => {
    await deliver(payment("stripe", "cus_mine", await checkout("ada")));
    for (const payment_status of ["unpaid", "paid", "no_payment_required"]) {
      for (const mode of ["payment", "subscription"]) {
        const id = `cs_${payment_status}_${mode}`;
        await deliver(stripeEvent("checkout.session.completed", {
          ...{ id, object: "checkout.session", mode, payment_status, customer: "cus_eve" },
          ...{ client_reference_id: "ada", amount_total: 2000 },
          metadata: { prices: "price_pro*1" },
        }));
        assertEquals([seen.at(-1)?.accountId, await customerOf("ada")], ["cus_eve", "cus_mine"]);
      }
    }
    assertEquals(await billing.credits.balance("ada"), 100);
  });
});

Deno.test("unpaid and unknown events link no customer, and canceled subscriptions bring none back", async () => {
  await inWorld("stripe", async ({ deliver, customerOf, checkout, seen }) => {
    const metadata = await checkout("ada");
    await deliver(payment("stripe", "cus_mine", metadata));
    const facts = { customer: "cus_old", metadata };
    const events: readonly (readonly [string, object, string])[] = [
      ["checkout.session.completed", {
        ...{ object: "checkout.session", id: "cs", mode: "payment", payment_status: "unpaid" },
      }, "ada"],
      ["checkout.session.async_payment_failed", { object: "checkout.session", id: "cs" }, "ada"],
      ["checkout.session.expired", { object: "checkout.session", id: "cs" }, "ada"],
      ["invoice.payment_failed", { object: "invoice", id: "in_9", lines: { data: [] } }, "ada"],
      ["payment_intent.payment_failed", { object: "payment_intent", id: "pi_9" }, "ada"],
      ["customer.subscription.created", {
        ...{ object: "subscription", id: "sub_9", status: "incomplete" },
      }, "ada"],
      ["customer.subscription.deleted", {
        ...{ object: "subscription", id: "sub_9", status: "canceled" },
      }, "ada"],
      ["charge.refunded", { object: "charge", id: "ch_9" }, "ada"],
      // A page with a publishable key sets these metadata.
      ["payment_method.attached", { object: "payment_method", id: "pm_9" }, "cus_old"],
      ["customer.source.created", { object: "source", id: "src_9" }, "cus_old"],
    ];
    for (const [type, object, account] of events) {
      const given = account === "ada" ? metadata : { accountId: "ada" };
      await deliver(stripeEvent(type, { ...object, ...facts, metadata: given }));
      assertEquals([type, seen.at(-1)?.accountId], [type, account]);
      assertEquals([type, await customerOf("ada")], [type, "cus_mine"]);
    }
  });
  await inWorld("lemon-squeezy", async ({ deliver, customerOf, checkout }) => {
    const custom_data = await checkout("ada");
    const order = (status: string) => ({
      body: {
        meta: { event_name: "order_created", test_mode: true, custom_data },
        data: {
          ...{ type: "orders", id: status },
          attributes: { customer_id: 7, status, updated_at: "2026-11-01T10:00:00Z", total: 1 },
        },
      },
    });
    await deliver(order("pending"));
    assertEquals(await customerOf("ada"), undefined);
    await deliver(order("paid"));
    assertEquals(await customerOf("ada"), "7");
  });
});

Deno.test("a trial links its customer, who has paid nothing yet", async () => {
  await inWorld("stripe", async ({ deliver, customerOf, checkout }) => {
    const metadata = await checkout("ada");
    await deliver(stripeEvent("customer.subscription.created", {
      ...{ object: "subscription", id: "sub_1", status: "trialing", customer: "cus_1", metadata },
    }));
    assertEquals(await customerOf("ada"), "cus_1");
  });
});

/** A subscription on trial, as Paddle, Lemon Squeezy and Polar report it, and its payment of nothing. */
function trialOf(vendor: VendorName, customer: string, metadata: Metadata): readonly Delivery[] {
  const at = "2026-11-01T09:00:00Z";
  const id = `t${++count}`;
  const facts = { id, customer_id: customer, status: "trialing" };
  if (vendor === "lemon-squeezy") {
    const event = (event_name: string, type: string, attributes: object) => ({
      body: {
        meta: { event_name, test_mode: true, custom_data: metadata },
        data: { type, id, attributes: { customer_id: customer, updated_at: at, ...attributes } },
      },
    });
    return [
      event("order_created", "orders", { status: "paid", total: 0 }),
      event("subscription_created", "subscriptions", { status: "on_trial", variant_id: 901 }),
    ];
  }
  if (vendor === "polar") {
    const event = (type: string, data: object) => ({
      ...{
        id: `${id}-${type.replace(".", "-")}`,
        body: { type, timestamp: at, data: { ...facts, metadata, ...data } },
      },
    });
    return [
      event("subscription.created", { product_id: "price_pro" }),
      event("checkout.updated", { status: "succeeded" }),
      event("order.paid", { product_id: "price_pro", total_amount: 0 }),
    ];
  }
  const event = (event_type: string, data: object) => ({
    body: {
      ...{ event_id: `${id}${event_type}`, event_type, occurred_at: at },
      data: { ...facts, custom_data: metadata, ...data },
    },
  });
  return [
    event("transaction.paid", { origin: "web" }),
    event("transaction.completed", {
      origin: "web",
      items: [{ quantity: 1, price: { id: "price_pro" } }],
      details: { totals: { total: "0", grand_total: "0" } },
    }),
    event("subscription.created", { items: [{ quantity: 1, price: { id: "price_pro" } }] }),
  ];
}

for (const vendor of ["lemon-squeezy", "paddle", "polar"] as const) {
  Deno.test(`${vendor}: a trial with the address of another person links nothing`, async () => {
    await inWorld(vendor, async ({ deliver, customerOf, checkout, billing }) => {
      const mine = await checkout("ada");
      for (const trial of trialOf(vendor, "c-mine", await checkout("eve"))) {
        assertEquals(await deliver(trial), 200);
      }
      assertEquals(await customerOf("eve"), undefined);
      await deliver(payment(vendor, "c-mine", mine));
      assertEquals([await customerOf("ada"), await customerOf("eve")], ["c-mine", undefined]);
      assertEquals(await billing.credits.balance("eve"), 0);
    });
  });
}

Deno.test("of two accounts that pay as one new customer at once, one is linked", async () => {
  for (const vendor of ["lemon-squeezy", "paddle", "polar"] as const) {
    await inWorld(vendor, async ({ checkout, deliver, customerOf }) => {
      const users = ["ada", "eve"];
      const all = await Promise.all(users.map((user) => checkout(user)));
      await Promise.all(all.map((metadata) => deliver(payment(vendor, "c-1", metadata))));
      const linked = [await customerOf("ada"), await customerOf("eve")];
      assertEquals(linked.filter((one) => one === "c-1").length, 1);
    });
  }
});

Deno.test("resolveAccount gives a customer to another account, and the first one loses it", async () => {
  await inWorld("polar", async ({ deliver, customerOf }) => {
    await deliver(payment("polar", "c-1", { team: "old" }));
    await deliver(payment("polar", "c-1", { team: "new" }));
    assertEquals([await customerOf("old"), await customerOf("new")], [undefined, "c-1"]);
  }, { resolveAccount: ({ metadata }) => metadata?.team });
});
