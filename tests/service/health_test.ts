import { assertEquals } from "@std/assert";
import { resource } from "../../src/resource/define/resource_definition.ts";
import type { KeyValue } from "../../src/kv/key_value.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import type { Clock } from "../../src/runtime/runtime.ts";
import { StoreError } from "../../src/kv/store_error.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { integer } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { databaseCheck, type HealthCheck, readiness } from "../../src/service/service_pages.ts";
import { testOnEngines, withService } from "../support/http.ts";

const works: HealthCheck = { name: "database", run: () => Promise.resolve() };
const fails: HealthCheck = { name: "store", run: () => Promise.reject(new Error("gone")) };
const hangs: HealthCheck = { name: "search", run: () => new Promise(() => {}) };
const throws: HealthCheck = {
  name: "database",
  run() {
    throw new Error("at once");
  },
};

/** Each reading of the clock is 2 ms later; deadlines pass at once or never. */
function fakeClock(deadlines: "pass" | "never"): Clock {
  let elapsed = 0;
  return {
    now: () => 0,
    elapsedMs: () => elapsed += 2,
    after(_delayMs, work) {
      if (deadlines === "pass") setTimeout(work);
      return () => {};
    },
  };
}

Deno.test("a service is ready when every check passes", async () => {
  assertEquals(await readiness([works], { clock: fakeClock("never"), draining: false }), {
    status: 200,
    body: { status: "ready", checks: { database: { status: "ok", latencyMs: 2 } } },
  });
});

Deno.test("one failing check makes the service unavailable and names itself, not its error", async () => {
  for (const broken of [fails, throws]) {
    const report = await readiness([broken], { clock: fakeClock("never"), draining: false });
    assertEquals(report.status, 503);
    assertEquals(report.body, {
      status: "unavailable",
      checks: { [broken.name]: { status: "unavailable", latencyMs: 2 } },
    });
  }
});

Deno.test("a failing check that requests do not need leaves the service ready", async () => {
  const degraded = { ...fails, isDispensable: true };
  const clock = fakeClock("never");
  assertEquals(await readiness([works, degraded], { clock, draining: false }), {
    status: 200,
    body: {
      status: "ready",
      checks: {
        database: { status: "ok", latencyMs: 4 },
        store: { status: "degraded", latencyMs: 4 },
      },
    },
  });
  const [down, gone] = [{ ...works, run: fails.run }, degraded];
  assertEquals((await readiness([down, gone], { clock, draining: false })).status, 503);
});

Deno.test("a check that hangs fails at its deadline", async () => {
  const report = await readiness([works, hangs], { clock: fakeClock("pass"), draining: false });
  assertEquals(report.status, 503);
  assertEquals(report.body.checks["database"]?.status, "ok");
  assertEquals(report.body.checks["search"]?.status, "unavailable");
});

Deno.test("a draining service is unavailable, even where every check passes", async () => {
  const report = await readiness([works], { clock: fakeClock("never"), draining: true });
  assertEquals([report.status, report.body.status], [503, "unavailable"]);
  assertEquals(report.body.checks["database"]?.status, "ok");
});

Deno.test("the check of the database reads no table", async () => {
  const queries: string[] = [];
  const check = databaseCheck({
    query(statement) {
      queries.push(statement.text);
      return Promise.resolve({ rows: [], changed: 0 });
    },
  });
  await check.run();
  assertEquals([check.name, queries], ["database", ["SELECT 1"]]);
});

const notes = table("notes", { id: integer().primaryKey() });
const resources = [resource(notes, { id: notes.id, auth: { public: true } })];

/** A store that can be taken away. */
function breakable() {
  const kv = createMemoryKeyValue(systemRuntime(() => {}).clock);
  let isGone = false;
  const gone = () => Promise.reject(new StoreError("unavailable", null));
  const store: KeyValue = {
    ...kv,
    get: (key) => isGone ? gone() : kv.get(key),
    getMany: (keys) => isGone ? gone() : kv.getMany(keys),
    commit: (commit) => isGone ? gone() : kv.commit(commit),
  };
  return { store, fail: () => isGone = true };
}

testOnEngines(
  "a store that failed took every instance away, although requests continued",
  async (engine) => {
    const { store: kv, fail } = breakable();
    const rateLimit = { windowMs: 60_000, maxRequests: 100 };
    const gated = { pow: { operations: ["create"] as const }, rateLimit };
    const pow = { secret: "a secret for the tests only" };
    const config = {
      kv,
      abuseProtection: { pow },
      resources: [resource(notes, { id: notes.id, auth: { public: true }, ...gated })],
    };
    await withService(engine, [notes], () => config, async ({ get }) => {
      const ready = await get("/readyz");
      assertEquals([ready.status, ready.body.checks.store.status], [200, "ok"]);
      fail();
      const { status, body } = await get("/readyz");
      assertEquals([status, body.status, body.checks.store.status], [200, "ready", "degraded"]);
      assertEquals((await get("/api/notes")).status, 200);
    });
    await withService(engine, [notes], () => ({ resources }), async (service) => {
      assertEquals(Object.keys((await service.get("/readyz")).body.checks), ["database"]);
    });
  },
);

testOnEngines(
  "a service whose requests all need the store is not ready without it",
  async (engine) => {
    const { store: kv, fail } = breakable();
    const config = {
      kv,
      abuseProtection: { pow: { secret: "a secret for the tests only" } },
      resources: [resource(notes, { id: notes.id, auth: { public: true }, pow: true })],
    };
    await withService(engine, [notes], () => config, async ({ get }) => {
      assertEquals((await get("/readyz")).status, 200);
      fail();
      const { status, body } = await get("/readyz");
      assertEquals([status, body.checks.store.status], [503, "unavailable"]);
    });
  },
);

testOnEngines("a store that fails inside a request is a 503 with Retry-After", async (engine) => {
  const error = new StoreError("unavailable", new Error("disk"));
  const middleware = [() => Promise.reject(error)];
  await withService(engine, [notes], () => ({ resources, middleware }), async (service) => {
    const { status, body, headers } = await service.get("/api/notes");
    assertEquals([status, body.code, headers.get("retry-after")], [503, "STORE_UNAVAILABLE", "1"]);
    const [observation] = service.observations;
    assertEquals(observation?.kind, "request_failed");
  });
});
