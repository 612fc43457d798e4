import { assert, assertEquals, assertRejects } from "@std/assert";
import { stripe } from "../../src/billing/providers/stripe/stripe_provider.ts";
import { Problem } from "../../src/problem/problem.ts";
import { startStripeMock } from "../support/stripe_mock.ts";
import { testUnless } from "../support/skip.ts";

testUnless(
  await startStripeMock.missing(),
  "Stripe's own mock takes every call, and refuses wrong ones",
  async () => {
    await using mock = await startStripeMock();
    const provider = stripe({ apiKey: "sk_test_1", webhookSecret: "whsec_1", baseUrl: mock.url });
    const base = {
      successUrl: "https://shop.example/thanks",
      cancelUrl: "https://shop.example/",
      customerId: undefined,
      customerEmail: "ada@example.com",
      accountId: "ada",
      metadata: { accountId: "ada" },
      idempotencyKey: "k",
    };
    const items = [{ priceId: "price_1", quantity: 1 }];
    for (const mode of ["subscription", "payment"] as const) {
      for (const customerId of [undefined, "cus_1"]) {
        const session = await provider.createCheckout({ ...base, items, mode, customerId });
        assertEquals(Object.keys(session), ["id", "url"]);
      }
    }
    const portal = await provider.createPortal?.("cus_1", "https://shop.example/");
    assert(portal?.url.startsWith("https://"));
    const listed = await provider.listSubscriptions("cus_1");
    assertEquals(listed.map(({ provider }) => provider), ["stripe"]);
    const subscription = await provider.getSubscription("sub_1");
    assert(subscription !== null && subscription.currentPeriodEnd !== undefined);
    await provider.cancelSubscription("sub_1", { atPeriodEnd: true });
    await provider.cancelSubscription("sub_1", { atPeriodEnd: false });
    await provider.updateSubscription("sub_1", { priceId: "price_2" });
    const refused = await assertRejects(
      () => provider.createCheckout({ ...base, items, mode: "none" as "payment" }),
      Problem,
    );
    assertEquals(refused.slug, "billing-failed");
  },
);
