import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { apiKeyAuth, ApiKeys } from "../../exports/auth.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { withAccounts } from "./accounts_support.ts";
import { handClock } from "../db/hand_clock.ts";

const runtime = systemRuntime(() => {});

Deno.test("a key identifies its user, in X-API-Key and as a bearer token, until it expires", async () => {
  const { clock } = runtime;
  const kv = createMemoryKeyValue(clock);
  const keys = new ApiKeys(kv, runtime);
  const config = { kv, auth: { use: [apiKeyAuth()] } };
  const { text, key } = await keys.create({
    name: "a robot",
    userId: null,
    scopes: ["export"],
    expiresAt: null,
  });
  const expired = await keys.create({
    name: "x",
    userId: null,
    scopes: [],
    expiresAt: clock.now(),
  });
  const acting = await keys.create({ name: "y", userId: "ada", scopes: [], expiresAt: null });
  await withAccounts({}, async ({ send }) => {
    const ask = async (headers: Record<string, string>) => {
      const { status, body } = await send("GET", "/api/notes", undefined, { headers });
      return [status, body.code ?? null];
    };
    assertEquals(await ask({ "x-api-key": text }), [200, null]);
    assertEquals(await ask({ authorization: `Bearer ${text}` }), [200, null]);
    const created = await send("POST", "/api/notes", { title: "t" }, {
      headers: { "x-api-key": text },
    });
    assertEquals(created.body.ownerId, `key:${key.id}`);
    const hers = await send("POST", "/api/notes", { title: "t" }, {
      headers: { "x-api-key": acting.text },
    });
    assertEquals(hers.body.ownerId, "ada");
    const wrong = [
      expired.text,
      `${text}x`,
      text.slice(0, -1),
      `${text.slice(0, 17)}${"A".repeat(43)}`,
      `key_${"0".repeat(12)}_${text.slice(17)}`,
      `${text}, ${text}`,
      "",
      "x".repeat(100_000),
    ];
    for (const one of wrong) {
      assertEquals(await ask({ "x-api-key": one }), [401, "UNAUTHORIZED"], one.slice(0, 30));
    }
  }, { config });
});

Deno.test("the store has neither a key nor what one can be guessed from, and the list shows its last use", async () => {
  const hand = handClock();
  const clock = { ...runtime.clock, now: () => 1_800_000_000_000 + hand.clock.now() };
  const kv = createMemoryKeyValue(clock);
  const keys = new ApiKeys(kv, { ...runtime, clock });
  const given = { name: "one", userId: null, scopes: [], expiresAt: null };
  const first = await keys.create(given);
  const second = await keys.create({ ...given, name: "two" });
  assertNotEquals(first.text, second.text);
  const stored = Deno.inspect(await kv.list({ prefix: [], limit: 100 }), {
    depth: 9,
    strAbbreviateSize: 1e4,
  });
  assert(stored.includes(first.key.id));
  assert(!stored.includes(first.text.slice(17)));
  assertEquals((await keys.list()).map(({ lastUsedAt }) => lastUsedAt), [null, null]);
  hand.advance(1_000);
  assertEquals((await keys.find(first.text))?.name, "one");
  const used = async () => (await keys.list()).find(({ name }) => name === "one")?.lastUsedAt;
  assertEquals(await used(), 1_800_000_001_000);
  hand.advance(30_000);
  await keys.find(first.text);
  assertEquals(await used(), 1_800_000_001_000, "noted once a minute");
  hand.advance(30_000);
  await keys.find(first.text);
  assertEquals(await used(), 1_800_000_061_000);
  assertEquals([await keys.revoke(first.key.id), await keys.revoke(first.key.id)], [true, false]);
  assertEquals([await keys.find(first.text), (await keys.list()).length], [null, 1]);
});

Deno.test("more than a page of keys is listed", async () => {
  const keys = new ApiKeys(createMemoryKeyValue(runtime.clock), runtime);
  const given = { name: "one", userId: null, scopes: [], expiresAt: null };
  for (let index = 0; index < 501; index++) await keys.create(given);
  assertEquals(new Set((await keys.list()).map(({ id }) => id)).size, 501);
});

Deno.test("the user of a key may be made otherwise, and refused; the header may be another", async () => {
  const kv = createMemoryKeyValue(runtime.clock);
  const keys = new ApiKeys(kv, runtime);
  const given = { userId: null, scopes: [], expiresAt: null };
  const good = await keys.create({ ...given, name: "good" });
  const bad = await keys.create({ ...given, name: "bad" });
  const use = [
    apiKeyAuth({ header: "X-Robot", user: ({ name }) => name === "good" ? { id: "robot" } : null }),
  ];
  await withAccounts({}, async ({ send }) => {
    const status = async (headers: Record<string, string>) =>
      (await send("GET", "/api/notes", undefined, { headers })).status;
    assertEquals(await status({ "x-robot": good.text }), 200);
    assertEquals(await status({ "x-robot": bad.text }), 401);
    assertEquals(await status({ "x-api-key": good.text }), 401, "anonymous");
  }, { config: { kv, auth: { use } } });
});
