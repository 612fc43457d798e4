import { assert, assertEquals } from "@std/assert";
import {
  all,
  type AppConfig,
  eq,
  integer,
  Problem,
  procedure,
  resource,
  type ResourceOptions,
  table,
  text,
  timestamp,
  uuid,
} from "../../mod.ts";
import type { Driver } from "../../exports/driver.ts";
import { type KeyValue, StoreError } from "../../exports/kv.ts";
import type { StandardSchema } from "../../exports/options.ts";
import { solve } from "../../exports/proof_of_work.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { type Engine, engines } from "../support/engines.ts";
import {
  type Answer,
  hiddenMark,
  type Service,
  testOnEngines,
  testOnEveryEngine,
  withService,
} from "../support/http.ts";
import { gate, run } from "../support/scratch.ts";

const notes = table("notes", {
  id: uuid().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  title: text().notNull(),
  secret: text().default(`${hiddenMark}secret`),
  version: integer().notNull().default(1),
  deletedAt: timestamp().as("deleted_at"),
});

const storages = ["kv", "db"] as const;
type Options = Partial<ResourceOptions<typeof notes.$inferSelect, typeof notes.$inferInsert>>;

const anything: StandardSchema<unknown, unknown> = {
  "~standard": { version: 1, vendor: "here", validate: (value) => ({ value }) },
};

function withNotes(
  engine: Engine,
  options: Options,
  config: Omit<Partial<AppConfig>, "db" | "resources">,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  return withService(engine, [notes], () => ({
    kv: ":memory:",
    ...config,
    resources: [resource(notes, {
      id: notes.id,
      auth: {
        read: () => all(),
        create: (user) => eq(notes.ownerId, user.id),
        update: () => all(),
        delete: () => all(),
      },
      fields: {
        readable: [notes.id, notes.title, notes.ownerId, notes.version],
        writable: [notes.title],
      },
      generatedFields: [notes.id, notes.ownerId],
      etag: { versionField: notes.version },
      softDelete: { field: notes.deletedAt },
      batch: { create: 5_000 },
      ...options,
    })],
  }), work);
}

const [someEngine] = engines;

/** Where the engine is of no importance, with both places to keep answers in. */
function test(
  name: string,
  options: Options,
  work: (service: Service, storage: "kv" | "db") => Promise<void>,
): void {
  for (const storage of storages) {
    Deno.test(`${name} (${storage})`, async () => {
      if (someEngine === undefined) return;
      const config = { idempotency: { storage } };
      await withNotes(someEngine, options, config, (service) => work(service, storage));
    });
  }
}

function by(user: string, key: string): Record<string, string> {
  return { "x-user": user, "idempotency-key": key };
}

async function count({ db }: Service): Promise<number> {
  return Number((await run(db, "SELECT COUNT(*) FROM notes")).rows[0]?.[0]);
}

/** What must be equal in a replayed answer. */
function kept({ status, body, headers }: Answer) {
  const names = ["content-type", "etag", "location", "cache-control"];
  return { status, body, headers: names.map((name) => headers.get(name)) };
}

function isReplayed({ headers }: Answer): boolean {
  return headers.get("idempotency-replayed") === "true";
}

/** The same request twice; returns the first answer. */
async function twice(call: () => Promise<Answer>): Promise<Answer> {
  const first = await call();
  const second = await call();
  assertEquals(isReplayed(first), false);
  assertEquals(isReplayed(second), true, `${first.status} ${JSON.stringify(first.body)}`);
  assertEquals(kept(second), kept(first));
  return first;
}

for (const storage of storages) {
  testOnEngines(
    `20 parallel requests with one key are executed once, stored in ${storage}`,
    (engine) =>
      withNotes(engine, {}, { idempotency: { storage } }, async (service) => {
        const call = () => service.send("POST", "/api/notes", { title: "a" }, by("ada", "k"));
        const answers = await Promise.all(Array.from({ length: 20 }, call));
        const executed = answers.filter((answer) => answer.status === 201 && !isReplayed(answer));
        assertEquals(executed.length, 1);
        const [first] = executed;
        assert(first !== undefined);
        for (const answer of [...answers, await call()]) {
          if (answer.status === 201) assertEquals(kept(answer), kept(first));
          else {
            assertEquals([answer.status, answer.body.code], [409, "IDEMPOTENCY_IN_FLIGHT"]);
            assertEquals(answer.headers.get("retry-after"), "1");
          }
        }
        assertEquals(isReplayed(await call()), true);
        assertEquals(await count(service), 1);
      }),
  );

  testOnEveryEngine(
    `a batch answer of 300 KB is replayed byte for byte, stored in ${storage}`,
    (engine) =>
      withNotes(engine, {}, { idempotency: { storage } }, async (service) => {
        const items = Array.from(
          { length: 300 },
          (_, n) => ({ title: `${n} é🙂${"x".repeat(950)}` }),
        );
        const call = () => service.send("POST", "/api/notes/batch", { items }, by("ada", "k"));
        const { status, body } = await twice(call);
        assertEquals(status, 201);
        assert(JSON.stringify(body).length > 300_000);
        assertEquals(await count(service), 300);
      }),
  );
}

test("every write answers the second time as the first", {
  hooks: { onAfterCreate: () => {}, onAfterUpdate: () => {}, onAfterDelete: () => {} },
  procedures: {
    add: procedure({
      input: anything,
      output: anything,
      handler: async ({ db }) => (await run({ driver: db, dialect: db.dialect }, add)).changed,
    }),
  },
}, async (service) => {
  const send = await writeEverything(service);
  assertEquals((await send("POST", "/batch", { items: [] })).status, 201);
  assertEquals((await send("POST", "/rpc/add", {})).body, { data: 1 });
  assertEquals(await count(service), 3);
});

Deno.test("with db, the answer to every write is stored in its own transaction", async () => {
  if (someEngine === undefined) return;
  // Outside of a transaction no answer can be stored.
  const engine = changedDriver(someEngine, {
    query: (driver) => async (statement) => {
      if (/SET answer = /.test(statement.text)) throw new Error("not here");
      return await driver.query(statement);
    },
  });
  await withNotes(engine, {}, { idempotency: { storage: "db" } }, async (service) => {
    await writeEverything(service);
  });
});

/** Every write that is a transaction, each twice under a key of its own. */
async function writeEverything(service: Service) {
  let n = 0;
  const send = (method: string, path: string, body?: unknown) => {
    const headers = by("ada", `key ${n++}`);
    return twice(() => service.send(method, `/api/notes${path}`, body, headers));
  };
  const { status, body: { id }, headers } = await send("POST", "", { title: "a" });
  assertEquals([status, headers.get("etag")], [201, 'W/"1"']);
  assertEquals((await send("PATCH", `/${id}`, { title: "b" })).headers.get("etag"), 'W/"2"');
  assertEquals((await send("PUT", `/${id}`, { title: "c" })).headers.get("etag"), 'W/"3"');
  assertEquals((await send("DELETE", `/${id}`)).status, 204);
  assertEquals((await send("POST", `/${id}/restore`)).status, 200);
  const items = [{ id, title: "d" }];
  assertEquals((await send("PUT", "/batch", { items })).status, 200);
  assertEquals((await send("POST", "/batch/upsert", { items })).status, 200);
  assertEquals((await send("POST", "/batch", { items: [{ title: "e" }] })).status, 201);
  const patch = { filter: "title==e", patch: { title: "f" } };
  assertEquals((await send("PATCH", "/batch", patch)).body, { count: 1 });
  assertEquals((await send("DELETE", "/batch", { filter: "title==f" })).body, { count: 1 });
  return send;
}

/** The same engine with some members of its driver replaced. */
function changedDriver(
  engine: Engine,
  changes: { readonly [Name in keyof Driver]?: (driver: Driver) => Driver[Name] },
): Engine {
  return {
    ...engine,
    async open(options) {
      const db = await engine.open(options);
      const driver = new Proxy(db.driver, {
        get(driver, name) {
          const change = new Map<PropertyKey, (driver: Driver) => unknown>(Object.entries(changes))
            .get(name);
          if (change !== undefined) return change(driver);
          const value: unknown = Reflect.get(driver, name);
          return typeof value === "function" ? value.bind(driver) : value;
        },
      });
      return { ...db, driver };
    },
  };
}

const add =
  "INSERT INTO notes (id, owner_id, title) VALUES ('00000000-0000-4000-8000-000000000000', 'x', 'y')";

test("another body, query or condition under the same key is 422", {}, async (service) => {
  const headers = by("ada", "k");
  const send = (body: unknown, query = "", more: Record<string, string> = {}) =>
    service.send("POST", `/api/notes${query}`, body, { ...headers, ...more });
  assertEquals((await send({ title: "a" })).status, 201);
  for (
    const other of [
      await send({ title: "b" }),
      await send('{"title": "a"}'),
      await send({ title: "a" }, "?x=1"),
      await send({ title: "a" }, "", { "if-match": "*" }),
    ]
  ) assertEquals([other.status, other.body.code], [422, "IDEMPOTENCY_KEY_REUSED"]);
  assertEquals((await send({ title: "a" })).status, 201);
  assertEquals(await count(service), 1);
});

test("equal keys of another user, method or path are different keys", {}, async (service) => {
  const send = (user: string) => service.send("POST", "/api/notes", { title: user }, by(user, "k"));
  const [ada, eve] = [await send("ada"), await send("eve")];
  assertEquals([ada.status, eve.status, eve.body.title], [201, 201, "eve"]);
  const path = `/api/notes/${ada.body.id}`;
  const patched = await service.send("PATCH", path, { title: "x" }, by("ada", "k"));
  assertEquals([patched.status, isReplayed(patched)], [200, false]);
  assertEquals((await service.send("DELETE", path, undefined, by("ada", "k"))).status, 204);
  assertEquals(isReplayed(await send("ada")), true);
  assertEquals(await count(service), 2);
});

test("a replay requires credentials", {}, async (service) => {
  await service.send("POST", "/api/notes", { title: "a" }, by("ada", "k"));
  const answer = await service.send("POST", "/api/notes", { title: "a" }, {
    "idempotency-key": "k",
  });
  assertEquals([answer.status, isReplayed(answer)], [401, false]);
});

test(
  "both spellings of a key are one, and a malformed key is 400 before any query",
  {},
  async (service) => {
    const send = (key: string) =>
      service.send("POST", "/api/notes", { title: "a" }, by("ada", key));
    await send("k");
    assertEquals(isReplayed(await send('"k"')), true);
    assertEquals((await send('"k')).body.code, "INVALID_PARAMETER");
    assertEquals((await send("")).status, 400);
    assertEquals((await send("k".repeat(256))).status, 400);
    assertEquals(await count(service), 1);
  },
);

test(
  "a permanent refusal is stored, and replayed though its cause is gone",
  {},
  async (service) => {
    const { body: { id } } = await service.send(
      "POST",
      "/api/notes",
      { title: "a" },
      by("ada", "0"),
    );
    const refused: readonly (readonly [string, string, unknown, Record<string, string>, number])[] =
      [
        ["POST", "/api/notes", { title: 1 }, by("ada", "1"), 422],
        ["POST", "/api/notes", "[", by("ada", "2"), 400],
        ["PATCH", `/api/notes/${crypto.randomUUID()}`, { title: "b" }, by("ada", "3"), 404],
        [
          "PATCH",
          `/api/notes/${id}`,
          { title: "b" },
          { ...by("ada", "4"), "if-match": '"9"' },
          412,
        ],
        ["POST", `/api/notes/${id}/restore`, undefined, by("ada", "5"), 409],
      ];
    for (const [method, path, body, headers, status] of refused) {
      assertEquals((await twice(() => service.send(method, path, body, headers))).status, status);
    }
    await service.send("DELETE", `/api/notes/${id}`, undefined, { "x-user": "ada" });
    const again = await service.send("POST", `/api/notes/${id}/restore`, undefined, by("ada", "5"));
    assertEquals([again.status, isReplayed(again)], [409, true]);
  },
);

/** The refusal of the next create; null admits it. */
const refusals: (Error | null)[] = [];

test("after a 5xx, 401, 403 or 429 the key is free, and the retry is executed", {
  hooks: {
    onAfterCreate: () => {
      const refusal = refusals.shift() ?? null;
      if (refusal !== null) throw refusal;
    },
  },
}, async (service) => {
  const send = () => service.send("POST", "/api/notes", { title: "a" }, by("ada", "k"));
  refusals.push(
    new Error("ours"),
    new Problem("overloaded", "busy"),
    new Problem("forbidden", "no"),
    new Problem("unauthorized", "who?"),
    new Problem("rate-limit-exceeded", "slowly"),
    new Problem("captcha-required", "a person?"),
    new Problem("request-timeout", "late"),
  );
  for (const status of [500, 503, 403, 401, 429, 428, 408]) {
    assertEquals((await send()).status, status);
    assertEquals(await count(service), 0);
  }
  assertEquals((await twice(send)).status, 201);
  assertEquals(await count(service), 1);
});

test("while the first one runs, the second is 409 and does not wait", {
  hooks: {
    async onBeforeCreate(_context, data) {
      running.arrived.open();
      await running.end.passed;
      return data;
    },
  },
}, async (service) => {
  running = { arrived: gate(), end: gate() };
  const send = () => service.send("POST", "/api/notes", { title: "a" }, by("ada", "k"));
  const first = send();
  await running.arrived.passed;
  const second = await send();
  assertEquals([second.status, second.body.code], [409, "IDEMPOTENCY_IN_FLIGHT"]);
  running.end.open();
  assertEquals((await first).status, 201);
  assertEquals(isReplayed(await send()), true);
  assertEquals(await count(service), 1);
});

let running = { arrived: gate(), end: gate() };

test("case 25: a 428 is neither cached nor stored, and the solved request can use its key", {
  pow: { difficulty: 1 },
}, async (service) => {
  const send = (more: Record<string, string> = {}) =>
    service.send("POST", "/api/notes", { title: "a" }, { ...by("ada", "k"), ...more });
  const challenge = await send();
  assertEquals([challenge.status, challenge.headers.get("cache-control")], [428, "no-store"]);
  const token = challenge.headers.get("service-pow-challenge") ?? "";
  const nonce = await solve({ token, difficulty: 1 });
  const solved = await send({ "service-pow-challenge": token, "service-pow-nonce": nonce });
  assertEquals([solved.status, isReplayed(solved)], [201, false]);
  // A replay needs no work.
  assertEquals(isReplayed(await send()), true);
  assertEquals(await count(service), 1);
});

test("a replay counts for the rate limit", {
  rateLimit: { windowMs: 3_600_000, maxRequests: 2 },
}, async (service) => {
  const send = () => service.send("POST", "/api/notes", { title: "a" }, by("ada", "k"));
  await twice(send);
  assertEquals((await send()).status, 429);
});

test("reads ignore the key", {}, async (service) => {
  const read = () => service.get("/api/notes", by("ada", '"'));
  assertEquals([(await read()).status, isReplayed(await read())], [200, false]);
});

test("a replayed answer equals the first, even with computed fields", {
  computed: { chance: () => crypto.randomUUID() },
}, async (service) => {
  await twice(() => service.send("POST", "/api/notes", { title: "a" }, by("ada", "k")));
});

Deno.test("a replay costs nothing of the budget", async () => {
  if (someEngine === undefined) return;
  const budget = { classes: { authenticated: { capacity: 1, refillPerMinute: 0 } } };
  await withNotes(someEngine, {}, { abuseProtection: { budget } }, async (service) => {
    const send = (key: string) =>
      service.send("POST", "/api/notes", { title: "a" }, by("ada", key));
    await twice(() => send("k"));
    assertEquals((await send("another")).status, 429);
    assertEquals(isReplayed(await send("k")), true);
    assertEquals(await count(service), 1);
  });
});

Deno.test("where idempotency is false, the header is ignored", async () => {
  if (someEngine === undefined) return;
  await withNotes(someEngine, {}, { idempotency: false }, async (service) => {
    for (const key of ["k", "k", '"']) {
      const answer = await service.send("POST", "/api/notes", { title: "a" }, by("ada", key));
      assertEquals([answer.status, isReplayed(answer)], [201, false]);
    }
    assertEquals(await count(service), 3);
  });
});

Deno.test("a store that is down refuses keyed requests before any query, and no others", async () => {
  if (someEngine === undefined) return;
  const down = () => Promise.reject(new StoreError("unavailable", new Error("down")));
  const memory = createMemoryKeyValue(systemRuntime(() => {}).clock);
  const kv: KeyValue = { ...memory, commit: down, get: down };
  await withNotes(someEngine, {}, { kv }, async (service) => {
    const send = (headers: Record<string, string>) =>
      service.send("POST", "/api/notes", { title: "a" }, headers);
    const refused = await send(by("ada", "k"));
    assertEquals([refused.status, refused.body.code], [503, "STORE_UNAVAILABLE"]);
    assert(refused.headers.has("retry-after"));
    assertEquals(await count(service), 0);
    assertEquals((await send({ "x-user": "ada" })).status, 201);
  });
});

Deno.test("a store that fails once the write is done does not hide the answer", async () => {
  if (someEngine === undefined) return;
  const memory = createMemoryKeyValue(systemRuntime(() => {}).clock);
  const failure = new StoreError("unavailable", new Error("down"));
  let commits = 0;
  const kv: KeyValue = {
    ...memory,
    commit: (commit) => ++commits === 2 ? Promise.reject(failure) : memory.commit(commit),
  };
  await withNotes(someEngine, {}, { kv }, async (service) => {
    const send = () => service.send("POST", "/api/notes", { title: "a" }, by("ada", "k"));
    assertEquals((await send()).status, 201);
    assertEquals(service.observations.filter(({ kind }) => kind === "idempotency_store_failed"), [
      { kind: "idempotency_store_failed", error: failure },
    ]);
    assertEquals((await send()).status, 409);
    assertEquals(await count(service), 1);
  });
});

Deno.test("without a key, a single write is one statement and no transaction, in every storage", async () => {
  if (someEngine === undefined) return;
  let transactions = 0;
  const counting = changedDriver(someEngine, {
    transaction: (driver) => (work) => {
      transactions++;
      return driver.transaction(work);
    },
  });
  const options: Options = {
    auth: { create: () => all(), read: () => all() },
    etag: undefined,
    fields: {},
    generatedFields: [notes.id],
  };
  await withNotes(counting, options, { idempotency: { storage: "db" } }, async (service) => {
    const before = transactions;
    const send = (headers: Record<string, string>) =>
      service.send("POST", "/api/notes", { title: "a", ownerId: "ada", secret: null }, headers);
    assertEquals((await send({ "x-user": "ada" })).status, 201);
    assertEquals(transactions, before);
    assertEquals((await send(by("ada", "k"))).status, 201);
    assert(transactions > before);
  });
});
