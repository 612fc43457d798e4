import { assertEquals } from "@std/assert";
import { providerOf, testBilling } from "./vendors.ts";

const plans = [{ key: "pro", priceId: "11", credits: 100 }] as const;

/** Lines of an invoice of Stripe, of which an event has the first ten. */
function lineOf(index: number) {
  return {
    ...{ id: `il_${index}`, object: "line_item", amount: 1000, quantity: 1 },
    pricing: { price_details: { price: "11" } },
  };
}

function invoiceOf(count: number) {
  const data = Array.from({ length: Math.min(count, 10) }, (_, index) => lineOf(index));
  const object = {
    ...{ id: "in_1", object: "invoice", customer: "ada", total: 1000 * count },
    ...{ amount_paid: 1000 * count, billing_reason: "subscription_cycle", metadata: {} },
    parent: { subscription_details: { subscription: "sub_1", metadata: { accountId: "ada" } } },
    lines: { object: "list", data, has_more: count > 10, total_count: count },
  };
  const head = { id: "evt_1", type: "invoice.paid", created: 1_790_000_000, livemode: false };
  return { body: { ...head, data: { object } } };
}

/** A list of Stripe: `limit` elements after `starting_after`. */
function pageOf(url: URL, all: readonly { readonly id: string }[]): Response {
  const after = url.searchParams.get("starting_after");
  const from = all.findIndex(({ id }) => id === after) + 1;
  const to = from + Number(url.searchParams.get("limit"));
  const data = all.slice(from, to);
  return Response.json({ object: "list", data, has_more: to < all.length, url: url.pathname });
}

for (
  const [count, expected] of [[10, 1000], [11, 1100], [250, 25_000], [1_000, 100_000]] as const
) {
  Deno.test(`Stripe: all ${count} lines of an invoice grant`, async () => {
    const all = Array.from({ length: count }, (_, index) => lineOf(index));
    const fetch: typeof globalThis.fetch = (input, init) => {
      const url = new URL(new Request(input, init).url);
      assertEquals(url.pathname, "/v1/invoices/in_1/lines");
      return Promise.resolve(pageOf(url, all));
    };
    const provider = providerOf("stripe", { fetch });
    const { deliver, billing, close } = await testBilling("stripe", { plans, provider });
    assertEquals(await deliver(invoiceOf(count)), 200);
    assertEquals(await billing.credits.balance("ada"), expected);
    await close();
  });
}

Deno.test("Stripe: an invoice whose lines cannot be read fails, and one of over 1,000 says why", async () => {
  let isDown = true;
  const all = Array.from({ length: 1_001 }, (_, index) => lineOf(index));
  const fetch: typeof globalThis.fetch = (input, init) =>
    Promise.resolve(
      isDown
        ? new Response("{}", { status: 400 })
        : pageOf(new URL(new Request(input, init).url), all),
    );
  const provider = providerOf("stripe", { fetch });
  const world = await testBilling("stripe", { plans, provider });
  assertEquals(await world.deliver(invoiceOf(1_001)), 502);
  isDown = false;
  assertEquals(await world.deliver(invoiceOf(1_001)), 200);
  assertEquals(world.seen.at(-1)?.notGranted, "unknown-price");
  assertEquals(await world.billing.credits.balance("ada"), 0);
  await world.close();
});

/** A page of three of 5 subscriptions, as each vendor gives it. */
function subscriptionsPage(url: URL): Response {
  const ids = ["s1", "s2", "s3", "s4", "s5"];
  const query = url.searchParams;
  const after = query.get("after") ?? query.get("starting_after");
  const page = Number(query.get("page") ?? query.get("page[number]") ?? 1);
  const from = after === null ? (page - 1) * 3 : ids.indexOf(after) + 1;
  const facts = { customer: "c", customer_id: "c", status: "active" };
  const data = ids.slice(from, from + 3).map((id) => ({
    ...{ id, type: "subscriptions", ...facts, attributes: facts },
  }));
  const has_more = from + 3 < ids.length;
  return Response.json({
    ...{ object: "list", url: url.pathname, data, items: data, has_more },
    pagination: { max_page: 2 },
    meta: { pagination: { has_more }, page: { lastPage: 2 } },
  });
}

for (const vendor of ["stripe", "lemon-squeezy", "paddle", "polar"] as const) {
  Deno.test(`${vendor}: all pages of the subscriptions of a customer are listed`, async () => {
    const fetch: typeof globalThis.fetch = (input, init) =>
      Promise.resolve(subscriptionsPage(new URL(new Request(input, init).url)));
    const listed = await providerOf(vendor, { fetch }).listSubscriptions("c");
    assertEquals(listed.map(({ id }) => id), ["s1", "s2", "s3", "s4", "s5"]);
  });
}

Deno.test("a list of a vendor that does not end fails", async () => {
  const fetch: typeof globalThis.fetch = () => {
    const data = Array.from({ length: 200 }, () => ({ id: "s", customer_id: "c" }));
    return Promise.resolve(Response.json({ data, meta: { pagination: { has_more: true } } }));
  };
  const error = await providerOf("paddle", { fetch }).listSubscriptions("c").catch((error) =>
    error
  );
  assertEquals(error.slug, "billing-failed");
});
