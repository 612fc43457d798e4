import { assertEquals, assertRejects } from "@std/assert";
import { DatabaseError } from "../../src/db/database_error.ts";
import { pool } from "../../src/db/postgres/connection_pool.ts";
import { handClock } from "./hand_clock.ts";

Deno.test("a pool lends each item to one user, and serves those who wait in their order", async () => {
  const lent = pool(["a", "b"], 100, handClock().clock);
  assertEquals([lent.acquire(), lent.acquire()], ["a", "b"]);
  const order: string[] = [];
  const waiting = [1, 2, 3].map((who) =>
    Promise.resolve(lent.acquire()).then((item) => {
      order.push(`${who}${item}`);
      lent.release(item);
    })
  );
  lent.release("a");
  lent.release("b");
  await Promise.all(waiting);
  assertEquals(order.map((each) => each[0]), ["1", "2", "3"]);
});

Deno.test("a pool lends again what was given back last", () => {
  const lent = pool(["a", "b", "c"], 100, handClock().clock);
  const first = lent.acquire();
  lent.acquire();
  if (typeof first === "string") lent.release(first);
  assertEquals(lent.acquire(), "a");
});

Deno.test("whoever waits too long in a pool is refused, and is not served later", async () => {
  const { clock, advance } = handClock();
  const lent = pool(["a"], 100, clock);
  lent.acquire();
  const waiting = Promise.resolve(lent.acquire());
  advance(100);
  const error = await assertRejects(() => waiting, DatabaseError);
  assertEquals(error.kind, "unavailable");
  lent.release("a");
  assertEquals(lent.acquire(), "a");
});

Deno.test("a pool that closes refuses those who wait, and waits for what it lent", async () => {
  const { clock, advance } = handClock();
  const lent = pool(["a", "b"], 100, clock);
  lent.acquire();
  lent.acquire();
  const waiting = Promise.resolve(lent.acquire());
  let closed = false;
  const closing = lent.close().then(() => closed = true);
  await assertRejects(() => waiting, DatabaseError);
  await assertRejects(() => Promise.resolve(lent.acquire()), DatabaseError);
  lent.release("a");
  await Promise.resolve();
  assertEquals(closed, false);
  lent.release("b");
  await closing;
  advance(1000);
});

Deno.test("a pool waits only so long for what never comes back", async () => {
  const { clock, advance } = handClock();
  const lent = pool(["a"], 100, clock);
  lent.acquire();
  const closing = lent.close();
  advance(100);
  await closing;
});
