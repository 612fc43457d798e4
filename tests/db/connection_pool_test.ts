import { assertEquals, assertRejects } from "@std/assert";
import { DatabaseError } from "../../src/db/database_error.ts";
import { createPool } from "../../src/engines/postgres/driver/connection_pool.ts";
import { handClock } from "./hand_clock.ts";

Deno.test("a pool gives each item to one user at a time, and serves waits in their order", async () => {
  const lent = createPool(["a", "b"], 100, handClock().clock);
  assertEquals([lent.acquire("statement"), lent.acquire("statement")], ["a", "b"]);
  const order: string[] = [];
  const waiting = [1, 2, 3].map((waiter) =>
    Promise.resolve(lent.acquire("statement")).then((item) => {
      order.push(`${waiter}${item}`);
      lent.release(item);
    })
  );
  lent.release("a");
  lent.release("b");
  await Promise.all(waiting);
  assertEquals(order.map((each) => each[0]), ["1", "2", "3"]);
});

Deno.test("a read by key waited for all that waited before it: writes, and reads of large rows", async () => {
  const lent = createPool(["a"], 100, handClock().clock);
  lent.acquire("statement");
  const order: string[] = [];
  const uses = ["transaction", "transaction", "SELECT large", "SELECT large", "SELECT small"];
  const waiting = uses.map((use) =>
    Promise.resolve(lent.acquire(use)).then((item) => {
      order.push(use);
      lent.release(item);
    })
  );
  lent.release("a");
  await Promise.all(waiting);
  const [write, , large, , small] = uses;
  assertEquals(order, [write, large, small, write, large]);
});

Deno.test("a pool gives the item that was released last", () => {
  const lent = createPool(["a", "b", "c"], 100, handClock().clock);
  const first = lent.acquire("statement");
  lent.acquire("statement");
  if (typeof first === "string") lent.release(first);
  assertEquals(lent.acquire("statement"), "a");
});

Deno.test("a wait for a pool that is too long is rejected, and is not served later", async () => {
  const { clock, advance } = handClock();
  const lent = createPool(["a"], 100, clock);
  lent.acquire("statement");
  const waiting = Promise.resolve(lent.acquire("statement"));
  advance(100);
  const error = await assertRejects(() => waiting, DatabaseError);
  assertEquals(error.kind, "unavailable");
  lent.release("a");
  assertEquals(lent.acquire("statement"), "a");
});

Deno.test("a pool that closes rejects all waits, and waits for the items in use", async () => {
  const { clock, advance } = handClock();
  const lent = createPool(["a", "b"], 100, clock);
  lent.acquire("statement");
  lent.acquire("statement");
  const waiting = Promise.resolve(lent.acquire("statement"));
  let closed = false;
  const closing = lent.close().then(() => closed = true);
  await assertRejects(() => waiting, DatabaseError);
  await assertRejects(() => Promise.resolve(lent.acquire("statement")), DatabaseError);
  lent.release("a");
  await Promise.resolve();
  assertEquals(closed, false);
  lent.release("b");
  await closing;
  advance(1000);
});

Deno.test("a pool closes after the limit, with an item that is never released", async () => {
  const { clock, advance } = handClock();
  const lent = createPool(["a"], 100, clock);
  lent.acquire("statement");
  const closing = lent.close();
  advance(100);
  await closing;
});

Deno.test("a pool counts what is in use, what waits, and how long was waited", async () => {
  const { clock, advance } = handClock();
  const lent = createPool(["a", "b"], 100, clock);
  assertEquals(lent.usage(), { size: 2, used: 0, waiting: 0, waits: 0, waitedMs: 0 });
  for (let use = 0; use < 2; use++) lent.acquire("statement");
  const waiting = Promise.resolve(lent.acquire("statement"));
  const late = Promise.resolve(lent.acquire("statement")).catch(() => {});
  assertEquals(lent.usage(), { size: 2, used: 2, waiting: 2, waits: 2, waitedMs: 0 });
  advance(30);
  lent.release("a");
  await waiting;
  assertEquals(lent.usage(), { size: 2, used: 2, waiting: 1, waits: 2, waitedMs: 30 });
  advance(70);
  await late;
  lent.release("a");
  assertEquals(lent.usage(), { size: 2, used: 1, waiting: 0, waits: 2, waitedMs: 130 });
});
