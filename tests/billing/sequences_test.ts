import { assert, assertEquals } from "@std/assert";
import { randomOf } from "./ledger_model.ts";
import { type PaymentSequence, sequences } from "./payments.ts";
import type { Delivery } from "./signing.ts";
import { testBilling } from "./vendors.ts";

for (const sequence of sequences) {
  const { name, vendor, deliveries, account, credits } = sequence;

  Deno.test(`${name}: in order, backwards and shuffled, each twice, it grants once`, async () => {
    const next = randomOf(5);
    const orders: readonly (readonly Delivery[])[] = [
      deliveries,
      deliveries.toReversed(),
      ...Array.from(
        { length: 6 },
        () =>
          deliveries.map((one) => ({ one, at: next() })).sort((a, b) => a.at - b.at)
            .map(({ one }) => one),
      ),
    ];
    for (const order of orders) {
      const world = await testBilling(vendor);
      // As a vendor does: what was not acknowledged comes again.
      let waiting = [...order, ...order];
      for (let turn = 0; waiting.length > 0; turn++) {
        assert(turn < 5, "the last tries failed, too");
        const failed: Delivery[] = [];
        for (const delivery of waiting) {
          if (await world.deliver(delivery) !== 200) failed.push(delivery);
        }
        waiting = failed;
      }
      assertEquals(await world.billing.credits.balance(account), credits);
      assertSeen(sequence, world.seen.map(({ type }) => type));
      await world.close();
    }
  });

  Deno.test(`${name}: 64 of each at once grant once, and each is handled once`, async () => {
    const world = await testBilling(vendor);
    const all = deliveries.flatMap((delivery) => Array<Delivery>(64).fill(delivery));
    for (let waiting = all; waiting.length > 0;) {
      const statuses = await Promise.all(waiting.map((delivery) => world.deliver(delivery)));
      waiting = waiting.filter((_, index) => statuses[index] !== 200);
    }
    assertEquals(await world.billing.credits.balance(account), credits);
    assertEquals((await world.billing.credits.history(account)).length, 1);
    assertEquals((await world.billing.credits.audit(account))[0]?.faults, []);
    await world.close();
  });

  Deno.test(`${name}: a callback that fails three times is called until it succeeds`, async () => {
    let calls = 0;
    const world = await testBilling(vendor, {
      onEvent: () => {
        if (++calls <= 3) throw new Error("not now");
      },
    });
    for (const delivery of deliveries) {
      let status = await world.deliver(delivery);
      for (let tries = 0; tries < 5 && status !== 200; tries++) {
        assert(status >= 500, String(status));
        status = await world.deliver(delivery);
      }
      assertEquals(status, 200);
    }
    assert(calls >= deliveries.length + 3);
    assertEquals(await world.billing.credits.balance(account), credits);
    await world.close();
  });
}

function assertSeen({ deliveries }: PaymentSequence, types: readonly string[]): void {
  assert(types.includes("payment.succeeded"), types.join());
  assert(types.length >= deliveries.length, types.join());
}
