import { assertEquals, assertRejects } from "@std/assert";
import { DatabaseError } from "../../src/db/database_error.ts";
import { pool } from "../../src/db/postgres/connection_pool.ts";
import { handClock } from "./hand_clock.ts";

Deno.test("a pool lends each item to one user, and serves those who wait in their order", async () => {
  const lent = pool(["a", "b"], 100, handClock().clock);
  assertEquals([lent.take(), lent.take()], ["a", "b"]);
  const order: string[] = [];
  const waiting = [1, 2, 3].map((who) =>
    Promise.resolve(lent.take()).then((item) => {
      order.push(`${who}${item}`);
      lent.give(item);
    })
  );
  lent.give("a");
  lent.give("b");
  await Promise.all(waiting);
  assertEquals(order.map((each) => each[0]), ["1", "2", "3"]);
});

Deno.test("a pool lends again what was given back last", () => {
  const lent = pool(["a", "b", "c"], 100, handClock().clock);
  const first = lent.take();
  lent.take();
  if (typeof first === "string") lent.give(first);
  assertEquals(lent.take(), "a");
});

Deno.test("whoever waits too long in a pool is refused, and is not served later", async () => {
  const { clock, advance } = handClock();
  const lent = pool(["a"], 100, clock);
  lent.take();
  const waiting = Promise.resolve(lent.take());
  advance(100);
  const error = await assertRejects(() => waiting, DatabaseError);
  assertEquals(error.kind, "unavailable");
  lent.give("a");
  assertEquals(lent.take(), "a");
});

Deno.test("a pool that closes refuses those who wait, and waits for what it lent", async () => {
  const { clock, advance } = handClock();
  const lent = pool(["a", "b"], 100, clock);
  lent.take();
  lent.take();
  const waiting = Promise.resolve(lent.take());
  let closed = false;
  const closing = lent.close().then(() => closed = true);
  await assertRejects(() => waiting, DatabaseError);
  await assertRejects(() => Promise.resolve(lent.take()), DatabaseError);
  lent.give("a");
  await Promise.resolve();
  assertEquals(closed, false);
  lent.give("b");
  await closing;
  advance(1000);
});

Deno.test("a pool waits only so long for what never comes back", async () => {
  const { clock, advance } = handClock();
  const lent = pool(["a"], 100, clock);
  lent.take();
  const closing = lent.close();
  advance(100);
  await closing;
});
