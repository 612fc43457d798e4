import { assertEquals } from "@std/assert";
import type { BillingSubscription, SubscriptionStatus } from "../../src/billing/billing_event.ts";
import {
  NewestSubscriptions,
  type ReadSubscription,
} from "../../src/billing/webhook/newest_subscription.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { systemClock } from "../../src/runtime/system_runtime.ts";
import { randomOf } from "./ledger_model.ts";
import type { Delivery, VendorName } from "./signing.ts";
import { providerOf, testBilling } from "./vendors.ts";

/** One life: its states in the order of the provider's clock, a second apart. */
const life: readonly SubscriptionStatus[] = [
  ...["incomplete", "trialing", "active", "past_due", "canceled"] as const,
];

function timeAt(seconds: number): string {
  return new Date(1_790_000_000_000 + seconds * 1_000).toISOString();
}

/** The delivery of a state by each vendor, with its own clock and its own words. */
const deliveries: Readonly<
  Record<VendorName, (status: SubscriptionStatus, at: number) => Delivery>
> = {
  stripe: (status, at) => ({
    body: {
      ...{ id: `evt_${at}`, created: 1_790_000_000 + at, livemode: false },
      type: `customer.subscription.${status === "canceled" ? "deleted" : "updated"}`,
      data: { object: { id: "sub_1", customer: "cus_1", status } },
    },
  }),
  "lemon-squeezy": (status, at) => ({
    body: {
      meta: { event_name: "subscription_updated", test_mode: true },
      data: {
        ...{ type: "subscriptions", id: "sub_1" },
        attributes: {
          customer_id: 77,
          status: { trialing: "on_trial", canceled: "cancelled" }[String(status)] ?? status,
          updated_at: timeAt(at),
        },
      },
    },
  }),
  paddle: (status, at) => ({
    body: {
      ...{ event_id: `evt_${at}`, occurred_at: timeAt(at) },
      event_type: status === "canceled" ? "subscription.canceled" : "subscription.updated",
      data: { id: "sub_1", customer_id: "ctm_1", status },
    },
  }),
  polar: (status, at) => ({
    id: `msg_${at}`,
    body: {
      ...{ type: "subscription.updated", timestamp: timeAt(at) },
      data: { id: "sub_1", customer_id: "customer-1", status },
    },
  }),
};

/** Every order of the numbers from 0 on. */
function orders(count: number): readonly (readonly number[])[] {
  if (count === 0) return [[]];
  return orders(count - 1).flatMap((order) =>
    Array.from({ length: count }, (_, at) => order.toSpliced(at, 0, count - 1))
  );
}

for (const vendor of ["stripe", "lemon-squeezy", "paddle", "polar"] as const) {
  Deno.test(`${vendor}: states that come shuffled and twice are never older than one before`, async () => {
    const next = randomOf(7);
    // Each state has a time of its own: nothing is asked.
    const fetch = () => Promise.reject(new Error("asked"));
    const provider = providerOf(vendor, { fetch });
    for (let round = 0; round < 6; round++) {
      const world = await testBilling(vendor, { provider });
      const order = orders(life.length)[Math.floor(next() * 120)] ?? [];
      let newest = -1;
      for (const at of [...order, ...order.toReversed()]) {
        const status = life[at] ?? "incomplete";
        const before = world.seen.length;
        assertEquals(await world.deliver(deliveries[vendor](status, at)), 200);
        newest = Math.max(newest, at);
        const [event] = world.seen.slice(before);
        if (event === undefined) continue;
        assertEquals([event.occurredAt, event.subscription?.status], [timeAt(at), life[newest]]);
      }
      assertEquals(world.seen.length, life.length, "a repetition is no second event");
      await world.close();
    }
  });
}

function subscription(status: SubscriptionStatus): BillingSubscription {
  return { id: "sub_1", customerId: "cus_1", provider: "stripe", status };
}

function newestStates(readNow: ReadSubscription): NewestSubscriptions {
  return new NewestSubscriptions("stripe", createMemoryKeyValue(systemClock), readNow);
}

Deno.test("all 120 orders of five states, also all at once, end with the last one", async () => {
  for (const order of orders(life.length)) {
    const states = newestStates(() => Promise.reject(new Error("asked")));
    const report = (at: number) =>
      states.report({
        ...{ subscription: subscription(life[at] ?? "incomplete"), occurredAt: timeAt(at) },
        deliveryId: `evt_${at}`,
      });
    const [first = 0, ...others] = order;
    assertEquals((await report(first)).status, life[first]);
    await Promise.all(others.map(report));
    assertEquals((await states.find("sub_1"))?.status, "canceled");
    // An old event that is delivered once more changes nothing.
    assertEquals((await report(first)).status, "canceled");
  }
});

Deno.test("of two states in one second, in either order, the provider says which is newer", async () => {
  const tie = async (statuses: readonly SubscriptionStatus[], now: SubscriptionStatus | null) => {
    const states = newestStates(() => Promise.resolve(now === null ? null : subscription(now)));
    let last = "";
    for (const status of statuses) {
      const reported = { subscription: subscription(status), occurredAt: timeAt(0) };
      last = (await states.report({ ...reported, deliveryId: `evt_${status}` })).status;
    }
    // A repetition of the last one.
    const known = await states.find("sub_1");
    assertEquals(known?.status, last);
    return last;
  };
  for (const order of [["active", "canceled"], ["canceled", "active"]] as const) {
    assertEquals(await tie(order, "past_due"), "past_due");
    assertEquals(await tie(order, null), "canceled", "an end is final where it is not known");
  }
});

Deno.test("a state that was read at the provider is not replaced by an event from before it", async () => {
  const atProvider = subscription("canceled");
  let isUp = true;
  const states = newestStates(() => Promise.resolve(isUp ? atProvider : null));
  const report = async (status: SubscriptionStatus, at: number, id = `evt_${status}_${at}`) => {
    const facts = { subscription: subscription(status), occurredAt: timeAt(at), deliveryId: id };
    return (await states.report(facts)).status;
  };
  assertEquals(await report("incomplete", 1), "incomplete");
  assertEquals(await report("active", 1), "canceled");
  // The subscription was past due in second 2 and canceled in second 3, which is not reported yet.
  assertEquals(await report("past_due", 2), "canceled");
  isUp = false;
  assertEquals(await report("past_due", 2, "evt_again"), "canceled");
  assertEquals(await report("canceled", 3), "canceled");
  assertEquals((await states.find("sub_1"))?.status, "canceled");
});
