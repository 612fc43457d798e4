import { assert, assertEquals } from "@std/assert";
import { z } from "zod";
import { all, integer, procedure, resource, table, text } from "../../mod.ts";
import type { KeyValue } from "../../exports/kv.ts";
import { solve } from "../../exports/proof_of_work.ts";
import { createDenoKeyValue } from "../../src/kv/deno_key_value.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { handClock } from "../db/hand_clock.ts";
import { type Engine, engines } from "../support/engines.ts";
import { type Service, testOnEngines, withService } from "../support/http.ts";

const notes = table("notes", { id: integer().primaryKey(), body: text().notNull() });
const contacts = table("contacts", { id: integer().primaryKey() });
const writable = { public: true, create: () => all(), update: () => all() } as const;
const pow = { secret: "a secret for the tests only", difficulty: 4 };
const config = {
  abuseProtection: { pow },
  bodyLimit: 4_000_000,
  resources: [
    resource(notes, { id: notes.id, auth: writable, batch: { create: 200 } }),
    resource(contacts, { id: contacts.id, auth: writable, pow: true }),
  ],
} as const;

const kib = 1024;
const mib = 1024 ** 2;
const runtime = systemRuntime(() => {});

function withNotes(
  engine: Engine,
  options: { readonly kv: KeyValue | string; readonly storage?: "kv" | "db" },
  work: (service: Service) => Promise<void>,
): Promise<void> {
  const { kv, storage = "kv" } = options;
  return withService(
    engine,
    [notes, contacts],
    () => ({ ...config, kv, idempotency: { storage } }),
    work,
  );
}

/** Writes a row of so many bytes under a key. */
function write({ send }: Service, user: string, key: string, bytes: number) {
  const headers = { "x-user": user, "idempotency-key": `the key ${key} of a client` };
  return send("POST", "/api/notes", { body: "x".repeat(bytes) }, headers);
}

async function solved({ send }: Service): Promise<number> {
  const post = (headers = {}) =>
    send("POST", "/api/contacts", {}, { "x-user": "stranger", ...headers });
  const { status, headers } = await post();
  assertEquals(status, 428);
  const token = headers.get("service-pow-challenge") ?? "";
  const nonce = await solve({ token, difficulty: 4 });
  return (await post({ "service-pow-challenge": token, "service-pow-nonce": nonce })).status;
}

testOnEngines(
  "a user's keyed writes made every stranger's solved challenge a 503",
  async (engine) => {
    // As the default store, and small, so that it is full after as many writes.
    const kv = createMemoryKeyValue(runtime.clock, mib);
    await withNotes(engine, { kv }, async (service) => {
      assertEquals((await write(service, "ada", "first", 10)).status, 201);
      for (let n = 0; n < 81; n++) {
        assertEquals((await write(service, "eve", `${n}`, 16_000)).status, 201);
      }
      assertEquals(await solved(service), 201);
      const replayed = await write(service, "ada", "first", 10);
      assertEquals(replayed.headers.get("idempotency-replayed"), "true", "others keep their share");
      const last = await write(service, "eve", "80", 16_000);
      assertEquals(last.headers.get("idempotency-replayed"), "true", "the newest are kept");
    });
  },
);

for (const storage of ["kv", "db"] as const) {
  testOnEngines(
    `an answer too large to be kept is not replayed, and not executed twice (${storage})`,
    async (engine) => {
      await withNotes(engine, { kv: ":memory:", storage }, async (service) => {
        const first = await write(service, "ada", "k", 1_200_000);
        assertEquals(first.status, 201);
        const { status, headers, body } = await write(service, "ada", "k", 1_200_000);
        assertEquals([status, body.code], [409, "IDEMPOTENCY_ANSWER_NOT_KEPT"]);
        assertEquals(body.details, { status: 201, location: "/api/notes/1" });
        assertEquals(headers.get("idempotency-replayed"), "true");
        assertEquals((await service.get("/api/notes/count")).body, { count: 1 });
        const other = await write(service, "ada", "k", 5);
        assertEquals([other.status, other.body.code], [422, "IDEMPOTENCY_KEY_REUSED"]);
      });
    },
  );
}

const [engine] = engines;
if (engine === undefined) throw new Error("There is an engine");

/** The bytes that are stored for idempotency. */
async function storedBytes(kv: Deno.Kv): Promise<number> {
  let bytes = 0;
  for await (const { value } of kv.list({ prefix: ["idempotency"] })) {
    bytes += JSON.stringify(value, (_name, part) =>
      part instanceof Uint8Array ? "x".repeat(part.length) : part).length;
  }
  return bytes;
}

Deno.test("a user's answers grew without limit in a store of several processes", async () => {
  const file = await Deno.openKv(":memory:");
  const store = createDenoKeyValue(file, runtime);
  const kv = { ...store, close: () => Promise.resolve() };
  await withNotes(engine, { kv }, (one) =>
    withNotes(engine, { kv }, async (other) => {
      for (let n = 0; n < 60; n++) {
        const service = n % 2 === 0 ? one : other;
        assertEquals((await write(service, "eve", `${n}`, 900 * kib)).status, 201);
      }
      const bytes = await storedBytes(file);
      assert(bytes < 26 * mib, `${bytes}`);
      assert(bytes > 12 * mib, `${bytes}`);
      const refused = await write(other, "eve", "59", 900 * kib);
      assertEquals([refused.status, refused.body.code], [409, "IDEMPOTENCY_ANSWER_NOT_KEPT"]);
      assertEquals((await write(one, "eve", "small", 9)).status, 201);
      assertEquals((await write(one, "eve", "small", 9)).status, 201, "kept for a while");
      assertEquals((await write(one, "ada", "k", 900 * kib)).status, 201);
      const replayed = await write(one, "ada", "k", 900 * kib);
      assertEquals(replayed.headers.get("idempotency-replayed"), "true", "ada has her own share");
    }));
  await store.close();
});

Deno.test("beyond a client's share an answer is kept for five minutes, and within it for the ttl", async () => {
  const { clock, advance } = handClock();
  const kv = createMemoryKeyValue(clock);
  await withService(
    engine,
    [notes, contacts],
    () => ({ ...config, kv, runtime: { ...runtime, clock } }),
    async (service) => {
      const isReplayed = async (key: string) =>
        (await write(service, "eve", key, 9)).headers.has("idempotency-replayed");
      assertEquals([await isReplayed("a"), await isReplayed("a")], [false, true]);
      for (let n = 0; n < 24; n++) await write(service, "eve", `${n}`, 900 * kib);
      assertEquals([await isReplayed("b"), await isReplayed("b")], [false, true]);
      advance(300_000);
      assertEquals([await isReplayed("a"), await isReplayed("b")], [true, false]);
    },
  );
});

Deno.test("the share of a client costs a keyed write no call of the store", async () => {
  const memory = createMemoryKeyValue(runtime.clock);
  let calls = 0;
  const counted = <Args extends unknown[], T>(call: (...args: Args) => T) => (...args: Args) => {
    calls++;
    return call(...args);
  };
  const kv: KeyValue = {
    ...memory,
    get: counted(memory.get),
    getMany: counted(memory.getMany),
    commit: counted(memory.commit),
  };
  await withNotes(engine, { kv }, async (service) => {
    for (let n = 0; n < 50; n++) await write(service, "ada", `${n}`, 100);
    assertEquals(calls, 150, "the claim, and a read and a commit of the answer");
  });
});

Deno.test("anonymous addresses of one network share the room for answers", async () => {
  const store = createMemoryKeyValue(runtime.clock);
  const shares = new Set<string>();
  const kv: KeyValue = {
    ...store,
    commit(commit) {
      for (const one of commit.mutations) {
        if (one.kind === "set" && one.share !== undefined) shares.add(one.share);
      }
      return store.commit(commit);
    },
  };
  const greet = procedure({ input: z.any(), output: z.any(), public: true, handler: () => 1 });
  const resources = [resource(notes, { id: notes.id, procedures: { greet } })];
  await withService(engine, [notes], () => ({ kv, resources }), async ({ app }) => {
    const call = async (hostname: string) => {
      const request = new Request("http://test/api/notes/rpc/greet", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "idempotency-key": crypto.randomUUID(),
        },
        body: "{}",
      });
      const answer = await app.fetch(request, { remoteAddr: { hostname } });
      assertEquals([answer.status, await answer.json()], [200, { data: 1 }]);
    };
    await call("2001:db8::1");
    await call("2001:db8::2");
    assertEquals(shares.size, 1);
    await call("2001:db8:0:1::2");
    assertEquals(shares.size, 2);
  });
});
