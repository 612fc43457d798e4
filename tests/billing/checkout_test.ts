import { assert, assertEquals, assertRejects } from "@std/assert";
import type { BillingOptions } from "../../src/billing/open_billing.ts";
import { type VendorName, vendorNames } from "./signing.ts";
import { providerOf, type TestBilling, testBilling } from "./vendors.ts";

/** A call as a vendor received it. */
interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
}

/** Answers as each vendor does to a checkout, by its documented shape. */
const checkoutAnswers: Readonly<Record<VendorName, unknown>> = {
  stripe: { id: "cs_1", object: "checkout.session", url: "https://pay.example/cs_1" },
  "lemon-squeezy": {
    data: { type: "checkouts", id: "ck_1", attributes: { url: "https://pay.example/ck_1" } },
  },
  paddle: { data: { id: "txn_1", checkout: { url: "https://pay.example/txn_1" } } },
  polar: { id: "co_1", url: "https://pay.example/co_1" },
};

async function withVendor(
  name: VendorName,
  work: (world: TestBilling, received: Received[]) => Promise<void>,
  options: Partial<BillingOptions> = {},
  answer: (call: Received) => Response = () => Response.json(checkoutAnswers[name]),
): Promise<void> {
  const received: Received[] = [];
  const send: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const { pathname, search } = new URL(request.url);
    const call = {
      ...{ method: request.method, path: pathname + search, headers: request.headers },
      body: await request.text(),
    };
    received.push(call);
    return answer(call);
  };
  const provider = providerOf(name, { fetch: send });
  const world = await testBilling(name, { provider, ...options });
  try {
    await work(world, received);
  } finally {
    await world.close();
  }
}

function post(body: unknown, headers: Record<string, string> = {}) {
  return {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  };
}

async function problemOf(answer: Response): Promise<readonly [number, string, string]> {
  const { code, detail } = await answer.json();
  return [answer.status, code, detail];
}

const forged = {
  ...{ accountId: "victim", userId: "victim", planKey: "pro", prices: "price_pro*1000" },
  ...{ credits: "1000000", campaign: "spring" },
};

for (const name of vendorNames) {
  const planKey = name === "lemon-squeezy" ? "pro-ls" : "pro";
  const priceId = name === "lemon-squeezy" ? "901" : "price_pro";

  Deno.test(`${name}: a checkout with forged metadata is that of its user and its plan`, async () => {
    await withVendor(name, async ({ send }, received) => {
      const answer = await send("/checkout", {
        user: "ada",
        ...post({
          ...{ planKey, metadata: forged, customerEmail: "ada@example.com" },
          successUrl: "http://localhost/thanks?session={CHECKOUT_SESSION_ID}",
        }),
      });
      const { id, url, ...others } = await answer.json();
      assertEquals([answer.status, others], [200, {}]);
      assert(url.startsWith(`https://pay.example/${id}`));
      const [call] = received;
      const text = decodeURIComponent(call?.body ?? "");
      assert(!text.includes("victim"), text);
      assert(!text.includes("price_pro*1000"), text);
      assert(text.includes(`${priceId}*1`) && text.includes("ada"), text);
      assert(text.includes("spring"), text);
    });
  });
}

Deno.test("Stripe: the account is in every slot that reaches an invoice or a payment", async () => {
  const slotsOf = (body: string) =>
    [...new URLSearchParams(body)].filter(([, value]) => value === "ada").map(([name]) => name);
  await withVendor("stripe", async ({ send }, received) => {
    await (await send("/checkout", { user: "ada", ...post({ planKey: "pro" }) })).body?.cancel();
    await (await send("/checkout", { user: "ada", ...post({ planKey: "pack" }) })).body?.cancel();
    assertEquals(received.map(({ body }) => slotsOf(body).sort()), [
      ["client_reference_id", "metadata[accountId]", "subscription_data[metadata][accountId]"],
      ["client_reference_id", "metadata[accountId]", "payment_intent_data[metadata][accountId]"],
    ]);
    assertEquals(
      received.map(({ body }) => new URLSearchParams(body).get("mode")),
      ["subscription", "payment"],
    );
  });
});

Deno.test("Stripe: the same Idempotency-Key of a user is the same to Stripe, of another user not", async () => {
  await withVendor("stripe", async ({ send }, received) => {
    const check = async (user: string, key: string, planKey = "pro") => {
      const request = post({ planKey }, { "idempotency-key": key });
      await (await send("/checkout", { user, ...request })).body?.cancel();
      return received.at(-1)?.headers.get("idempotency-key");
    };
    const first = await check("ada", "k");
    assertEquals(await check("ada", "k"), first);
    assertEquals(
      new Set([
        first,
        await check("bob", "k"),
        await check("ada", "l"),
        await check("ada", "k", "pack"),
      ])
        .size,
      4,
    );
  });
});

Deno.test("wrong checkouts are 4xx that name the field, and reach no provider", async () => {
  await withVendor("stripe", async ({ send }, received) => {
    const wrong: readonly (readonly [unknown, string])[] = [
      [{}, "planKey"],
      [{ planKey: "none" }, "planKey"],
      [{ planKey: 5 }, "planKey"],
      [{ plankey: "pro" }, 'did you mean "planKey"?'],
      [{ planKey: "pro", items: [{ priceId: "price_pro" }] }, "planKey"],
      [{ planKey: "pro", mode: "payment" }, "mode"],
      [{ items: [] }, "items"],
      [{ items: [{ priceId: "price_cheap" }], mode: "payment" }, "items.0.priceId"],
      [{ items: [{ priceId: "price_pro", amount: 1 }] }, "items"],
      ...[0, -1, 0.5, "1", 1e9].map((quantity) =>
        [{ items: [{ priceId: "price_pack", quantity }] }, "items"] as const
      ),
      [{ planKey: "pro", metadata: { a: 5 } }, "metadata"],
      [{ planKey: "pro", metadata: { "a b": "c" } }, "metadata"],
      [{ planKey: "pro", customerEmail: "x" }, "customerEmail"],
      [{ planKey: "pro", accountId: "victim" }, "accountId"],
      ...[
        ...["https://evil.example/", "//evil.example", "javascript:alert(1)", "/relative", "x"],
        ...[
          "http://localhost.evil.example",
          "http://localhost@evil.example",
          "http://u:p@localhost/",
        ],
        ...["https://localhost/", "http://localhost:81/", "data:text/html,x"],
        ...[
          "http://localhost\\@evil.example",
          "http://evil.example\\@localhost",
          "http:\\\\localhost",
        ],
        ...[
          "http://localhost/\\evil.example",
          "http://localhost\t.evil.example",
          "blob:http://localhost/x",
        ],
      ].map((successUrl) => [{ planKey: "pro", successUrl }, "successUrl"] as const),
      [{ planKey: "pro", cancelUrl: "https://evil.example" }, "cancelUrl"],
    ];
    for (const [body, named] of wrong) {
      const answer = await send("/checkout", { user: "ada", ...post(body) });
      const [status, code, detail] = await problemOf(answer);
      assertEquals([status, code], [422, "VALIDATION_ERROR"], JSON.stringify(body));
      assert(detail.includes(named), `${JSON.stringify(body)}: ${detail}`);
    }
    for (const body of ["", "{", "[]", "5", "null", "\xff"]) {
      const init = { ...post({}), body };
      assertEquals((await problemOf(await send("/checkout", { user: "ada", ...init })))[0], 400);
    }
    const form = { method: "POST", body: new URLSearchParams({ planKey: "pro" }) };
    assertEquals((await problemOf(await send("/checkout", { user: "ada", ...form })))[0], 415);
    assertEquals(received, []);
  }, { rateLimit: false });
});

Deno.test("returnOrigins decide where a checkout returns to", async () => {
  await withVendor("stripe", async ({ send }) => {
    const statusOf = async (successUrl: string) => {
      const answer = await send("/checkout", {
        user: "ada",
        ...post({ planKey: "pro", successUrl }),
      });
      await answer.body?.cancel();
      return answer.status;
    };
    assertEquals(await statusOf("https://shop.example/thanks"), 200);
    assertEquals(await statusOf("http://localhost/thanks"), 422);
  }, { returnOrigins: ["https://shop.example"] });
});

Deno.test("a checkout returns to the URL that was checked, with the placeholders of providers", async () => {
  await withVendor("stripe", async ({ send }, received) => {
    const urls: readonly (readonly [string, string])[] = [
      ["https://shop.example", "https://shop.example/"],
      ["https:shop.example", "https://shop.example/"],
      ["https:/shop.example/a", "https://shop.example/a"],
      ["  https://shop.example/a ", "https://shop.example/a"],
      ["HTTPS://SHOP.EXAMPLE:443/A b", "https://shop.example/A%20b"],
      ...[
        ...[
          "?session={CHECKOUT_SESSION_ID}",
          "{CHECKOUT_SESSION_ID}/done",
          "#{CHECKOUT_SESSION_ID}",
        ],
        ...["?checkout_id={CHECKOUT_ID}", "?to=%2F%7Bid%7D&q=x+y#z", "%7Bid%7D"],
      ].map((rest) => [`https://shop.example/${rest}`, `https://shop.example/${rest}`] as const),
    ];
    for (const [given, sent] of urls) {
      const body = { planKey: "pro", successUrl: given, cancelUrl: given };
      const answer = await send("/checkout", { user: "ada", ...post(body) });
      await answer.body?.cancel();
      const call = new URLSearchParams(received.at(-1)?.body);
      assertEquals(
        [answer.status, call.get("success_url"), call.get("cancel_url")],
        [200, sent, sent],
        JSON.stringify(given),
      );
    }
  }, { returnOrigins: ["https://shop.example"] });
});

Deno.test("a returnOrigin that can match nothing fails the start", async () => {
  const wrong = [
    ...["*", "https://*.example.com", "https://*", "http://*:8080", "https://shop.example/"],
    ...["shop.example", "https://shop.example:443", "HTTPS://shop.example", "javascript:x"],
  ];
  for (const origin of wrong) {
    const error = await assertRejects(
      () => withVendor("stripe", async () => {}, { returnOrigins: [origin] }),
      Error,
    );
    assert(error.message.includes("returnOrigins"), `${origin}: ${error.message}`);
  }
});

Deno.test("items are prices of plans, and others only with anyPrice and a mode", async () => {
  const statusOf = async ({ send }: TestBilling, body: unknown) => {
    const answer = await send("/checkout", { user: "ada", ...post(body) });
    await answer.body?.cancel();
    return answer.status;
  };
  const items = [{ priceId: "price_pack", quantity: 3 }];
  const others = [{ priceId: "price_other" }];
  await withVendor("stripe", async (world, received) => {
    assertEquals(await statusOf(world, { items }), 200);
    assertEquals(new URLSearchParams(received[0]?.body).get("line_items[0][quantity]"), "3");
    assertEquals(await statusOf(world, { items: others, mode: "payment" }), 422);
  });
  await withVendor("stripe", async (world) => {
    assertEquals(await statusOf(world, { items: others, mode: "payment" }), 200);
    assertEquals(await statusOf(world, { items: others }), 422);
  }, { anyPrice: true });
});

Deno.test("all routes but the webhook need a user, and none is cached", async () => {
  await withVendor("stripe", async ({ send, billing }, received) => {
    for (const path of ["/checkout", "/portal"]) {
      assertEquals((await problemOf(await send(path, post({ planKey: "pro" }))))[0], 401);
    }
    for (const path of ["/subscription", "/credits"]) {
      assertEquals((await problemOf(await send(path)))[0], 401);
    }
    await billing.credits.grant("ada", 7);
    const answer = await send("/credits", { user: "ada" });
    assertEquals(answer.headers.get("cache-control"), "private, no-store");
    assertEquals(answer.headers.get("x-content-type-options"), "nosniff");
    assertEquals(await answer.json(), { balance: 7 });
    assertEquals(await (await send("/credits", { user: "bob" })).json(), { balance: 0 });
    assertEquals(await (await send("/subscription", { user: "ada" })).json(), {
      subscriptions: [],
    });
    assertEquals((await problemOf(await send("/portal", { user: "ada", method: "POST" })))[0], 404);
    assertEquals(received, []);
  });
});

Deno.test("each user may cause 30 calls of the provider a minute, and bodies end at 1 MiB", async () => {
  await withVendor("stripe", async ({ send }, received) => {
    for (let n = 0; n < 31; n++) {
      const answer = await send("/checkout", { user: "ada", ...post({ planKey: "pro" }) });
      assertEquals(answer.status, n < 30 ? 200 : 429);
      if (n === 30) assert(Number(answer.headers.get("retry-after")) <= 60);
      await answer.body?.cancel();
    }
    assertEquals(received.length, 30);
    const body = "x".repeat(1024 * 1024 + 1);
    for (const path of ["/checkout", "/webhook"]) {
      const answer = await send(path, { user: "bob", ...post({}), body });
      assertEquals((await problemOf(answer))[0], 413);
    }
  });
});

Deno.test("what a provider does not offer is 501, and its failure 502 without a word of it", async () => {
  await withVendor("paddle", async ({ send, billing }) => {
    const portal = await problemOf(await send("/portal", { user: "ada", method: "POST" }));
    assertEquals(portal.slice(0, 2), [501, "BILLING_UNSUPPORTED"]);
    const report = { subscriptionItemId: "si_1", quantity: 1 };
    const error = await billing.reportUsage(report).catch((error) => error);
    assertEquals([error.slug, error.status], ["billing-unsupported", 501]);
  });
  for (const name of vendorNames) {
    const planKey = name === "lemon-squeezy" ? "pro-ls" : "pro";
    const answers = [
      () => Response.json({ error: { message: "secret of the vendor" } }, { status: 400 }),
      () => new Response("<html>secret of the vendor", { status: 503 }),
      () => new Response("{", { status: 200 }),
      () => Response.json({}),
    ];
    for (const answer of answers) {
      await withVendor(
        name,
        async ({ send, observations }) => {
          const reply = await send("/checkout", { user: "ada", ...post({ planKey }) });
          const [status, code, detail] = await problemOf(reply);
          assertEquals([status, code], [502, "BILLING_FAILED"]);
          assert(!detail.includes("secret"), detail);
          assertEquals(observations.at(-1)?.kind, "request_failed");
        },
        {},
        answer,
      );
    }
  }
});

Deno.test("a checkout names the wrong field of an item, and the limits of a quantity", async () => {
  const { send, close } = await testBilling("paddle");
  const errorsOf = async (items: unknown) => {
    const answer = await send("/checkout", {
      ...{ user: "ada", method: "POST", headers: { "content-type": "application/json" } },
      body: JSON.stringify({ items }),
    });
    assertEquals(answer.status, 422);
    return (await answer.json()).details.errors;
  };
  const message = "must be a whole number from 1 to 1000000";
  for (const quantity of [0, -1, 1.5, "2", 1e9, null, true, []]) {
    const errors = await errorsOf([{ priceId: "price_pro" }, { priceId: "price_pro", quantity }]);
    assertEquals(errors, [{ path: "items.1.quantity", message }], JSON.stringify(quantity));
  }
  const paths = async (items: unknown) =>
    (await errorsOf(items)).map(({ path }: { readonly path: string }) => path);
  assertEquals(await paths([{ priceId: 3, quantity: 1 }]), ["items.0.priceId"]);
  assertEquals(await paths([{ priceId: "a", price: 1 }]), ["items.0.price"]);
  assertEquals(await paths([null]), ["items.0.priceId"]);
  assertEquals(await paths("price_pro"), ["items"]);
  await close();
});
