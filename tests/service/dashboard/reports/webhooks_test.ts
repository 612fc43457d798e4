import { assertEquals } from "@std/assert";
import { testBilling } from "../../../billing/vendors.ts";
import { anyEngine, withDashboard } from "./dashboard_service.ts";

Deno.test("the report of webhooks has what was delivered, and what became of it", async () => {
  let fails = false;
  const world = await testBilling("stripe", {
    onEvent() {
      if (fails) throw new RangeError("a value of the event");
    },
  });
  const { billing, deliver, send } = world;
  const paid = (id: string) => ({
    body: {
      ...{ id, type: "invoice.paid", created: 1_790_000_000, livemode: false },
      data: {
        object: {
          ...{ id: `in_${id}`, customer: "cus_1", amount_paid: 2000, currency: "usd" },
          billing_reason: "subscription_create",
          lines: {
            data: [{ quantity: 1, price: { id: "price_pro" }, metadata: { accountId: "ada" } }],
          },
        },
      },
    },
  });
  assertEquals([await deliver(paid("evt_1")), await deliver(paid("evt_1"))], [200, 200]);
  fails = true;
  assertEquals(await deliver(paid("evt_2")), 500);
  for (let count = 0; count < 60; count++) await send("/webhook", { method: "POST", body: "{}" });
  await withDashboard(anyEngine, [], () => ({
    resources: [],
    adminUI: { authorize: () => true, billing },
  }), async ({ report }) => {
    const { deliveries } = await report("webhooks");
    const rows = deliveries.map(({ id, events, outcome, reason }: Record<string, unknown>) => [
      ...[outcome, id, events, reason],
    ]);
    assertEquals(rows.slice(-3), [
      ["failed", "evt_2", ["payment.succeeded"], "RangeError"],
      ["duplicate", "evt_1", ["payment.succeeded"], null],
      ["handled", "evt_1", ["payment.succeeded"], null],
    ]);
    assertEquals(rows.length, 53, "50 of those that were refused are kept");
    assertEquals([rows[0][0], rows[0][1], typeof rows[0][3]], ["refused", null, "string"]);
    const { features } = await report("service");
    assertEquals([features.credits, features.webhooks], [true, true]);
    assertEquals((await report("credits?account=ada")).balance, 200);
  });
  await world.close();
});
