import { assertEquals, assertRejects } from "@std/assert";
import { openOutboxWorld } from "./outbox_world.ts";

Deno.test("a search engine that is down for 20 minutes: ten attempts, one dead entry, a replay", async () => {
  await using world = await openOutboxWorld();
  const process = world.start();
  await process.write(1, "kept");
  await process.write(2, "deleted later");
  await process.drain();
  world.isDown = true;
  await process.write(1, "changed");
  const attempts: number[] = [];
  for (let second = 0; second < 20 * 60; second++) {
    const { failed } = await process.outbox.drain();
    if (failed > 0) attempts.push(second);
    world.advance(1_000);
  }
  const delays = attempts.slice(1).map((at, n) => at - (attempts[n] ?? 0));
  assertEquals(delays, [2, 4, 8, 16, 32, 64, 128, 256, 300]);
  const { oldestAgeMs, ...stats } = await process.outbox.stats();
  assertEquals(stats, { pending: 0, ready: 0, leased: 0, dead: 1 });
  assertEquals(oldestAgeMs, null);
  const [dead] = await process.outbox.dead();
  assertEquals([dead?.docId, dead?.attempts, dead?.reason], ["1", 10, "the search engine is down"]);
  assertEquals(world.reported, ["Error: the search engine is down (10 attempts)"]);

  world.isDown = false;
  assertEquals(await process.outbox.drain(), { done: 0, failed: 0, dead: 0 });
  assertEquals(await process.outbox.replayDead(), 1);
  assertEquals(await process.outbox.drain(), { done: 1, failed: 0, dead: 0 });
  await world.converge("after the replay");
  assertEquals(world.indexed.get("1")?.title, "changed");
});

Deno.test("a document that was deleted while the engine was down stays deleted", async () => {
  await using world = await openOutboxWorld();
  const process = world.start();
  world.isDown = true;
  await process.write(1, "never seen");
  for (let minute = 0; minute < 20; minute++) {
    await process.drain();
    if (minute === 3) await process.write(1, null);
    world.advance(60_000);
  }
  world.isDown = false;
  await process.outbox.replayDead();
  await world.converge("the row is gone");
  assertEquals(world.indexed.get("1")?.title ?? null, null);
});

Deno.test("a write revives a dead entry", async () => {
  await using world = await openOutboxWorld();
  const process = world.start();
  world.isDown = true;
  await process.write(1, "first");
  await process.outbox.drain({ maxAttempts: 1 });
  assertEquals((await process.outbox.stats()).dead, 1);
  world.isDown = false;
  await process.write(1, "second");
  assertEquals(await process.outbox.stats(), {
    ...{ pending: 1, ready: 1, leased: 0, dead: 0, oldestAgeMs: 0 },
  });
  assertEquals((await process.outbox.drain()).done, 1);
  assertEquals(world.indexed.get("1")?.title, "second");
});

Deno.test("a late write of an old state never replaces a newer one", async () => {
  await using world = await openOutboxWorld();
  const slow = Promise.withResolvers<void>();
  const isStalled = Promise.withResolvers<void>();
  const writer = world.start();
  await writer.write(1, "old");
  const reached = Promise.withResolvers<void>();
  const stalled = world.start(async (step, side) => {
    if (step !== "index") return;
    if (side === "after") return reached.resolve();
    isStalled.resolve();
    await slow.promise;
  });
  const late = stalled.outbox.drain();
  await isStalled.promise;
  // Its time ends, and another drainer deletes the document.
  await writer.write(1, null);
  world.advance(60_000);
  assertEquals((await late).failed, 1);
  world.advance(60_000);
  await writer.drain();
  assertEquals(world.indexed.get("1")?.title, null);
  slow.resolve();
  await reached.promise;
  assertEquals(world.indexed.get("1")?.title, null);
  await world.converge("the row is gone");
});

Deno.test("many entries that wait do not keep others from being drained", async () => {
  await using world = await openOutboxWorld();
  const process = world.start();
  world.isDown = true;
  for (let id = 1; id <= 150; id++) await process.write(id, "waits");
  await process.drain();
  await process.drain();
  world.isDown = false;
  await process.write(200, "now");
  assertEquals((await process.outbox.drain()).done, 1);
  assertEquals(world.indexed.get("200")?.title, "now");
  await world.converge("all");
});

Deno.test("one document that the engine refuses does not keep others from being indexed", async () => {
  await using world = await openOutboxWorld();
  const process = world.start();
  await process.outbox.enqueue({ index: "notes", type: "index", docId: "no key" });
  for (let id = 1; id <= 20; id++) await process.write(id, `note ${id}`);
  for (let n = 0; n < 10; n++) {
    await process.drain();
    world.advance(300_000);
  }
  assertEquals(world.indexed.size, 20);
  assertEquals((await process.outbox.dead()).map(({ docId }) => docId), ["no key"]);
});

Deno.test("enqueue keeps a document of 60,000 bytes, and refuses a longer one", async () => {
  await using world = await openOutboxWorld();
  const { outbox, drain } = world.start();
  const document = (bytes: number) => ({ title: "a".repeat(bytes - '{"title":""}'.length) });
  const operation = { index: "notes", type: "index", docId: "1" } as const;
  await outbox.enqueue({ ...operation, document: document(60_000) });
  await assertRejects(
    () => outbox.enqueue({ ...operation, document: document(60_001) }),
    Error,
    "60001 bytes",
  );
  await drain();
  assertEquals(world.indexed.get("1")?.title?.length, 60_000 - '{"title":""}'.length);
  const left = await world.store().list({ prefix: ["search", "outbox", "document"], limit: 1 });
  assertEquals(left, []);
});

Deno.test("operations without a document: the row decides, and a delete deletes", async () => {
  await using world = await openOutboxWorld();
  const process = world.start();
  await process.write(1, "a row");
  await process.drain();
  await process.outbox.enqueue({ index: "notes", type: "delete", docId: "1" });
  await process.drain();
  assertEquals(world.indexed.get("1")?.title, null);
  await process.outbox.enqueue({ index: "notes", type: "index", docId: "1" });
  await process.outbox.enqueue({ index: "notes", type: "index", docId: "2" });
  await process.drain();
  assertEquals([...world.indexed].map(([, { title }]) => title), ["a row", null]);
});

Deno.test("a write after a given document: the row decides", async () => {
  await using world = await openOutboxWorld();
  const process = world.start();
  const document = { title: "given" };
  await process.outbox.enqueue({ index: "notes", type: "index", docId: "1", document });
  await process.write(1, "written");
  await process.drain();
  assertEquals(world.indexed.get("1")?.title, "written");
  await world.converge("the row");
});

Deno.test("ids of any length and with any character are kept apart", async () => {
  await using world = await openOutboxWorld();
  const { outbox } = world.start();
  const ids = ["a", "a\0", "é".repeat(2_000), "é".repeat(2_001), "%2F", "1,2", ""];
  for (const docId of ids) await outbox.enqueue({ index: "notes", type: "index", docId });
  assertEquals((await outbox.stats()).pending, ids.length);
  await outbox.drain({ maxAttempts: 1 });
  assertEquals(new Set((await outbox.dead()).map(({ docId }) => docId)), new Set(ids));
});
