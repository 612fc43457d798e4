import { assertEquals } from "@std/assert";
import { resource } from "../../src/resource/define/resource_definition.ts";
import type { KeyValue } from "../../src/kv/key_value.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import type { Clock } from "../../src/runtime/runtime.ts";
import { StoreError } from "../../src/kv/store_error.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { integer } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { databaseCheck, type HealthCheck, liveness, readiness } from "../../src/service/health.ts";
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

Deno.test("liveness is ok regardless of dependencies", () => {
  assertEquals(liveness(), { status: 200, body: { status: "ok" } });
});

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

testOnEngines("a configured store is part of being ready", async (engine) => {
  let isGone = false;
  const kv = createMemoryKeyValue(systemRuntime(() => {}).clock);
  const store: KeyValue = {
    ...kv,
    get: (key) => isGone ? Promise.reject(new StoreError("unavailable", null)) : kv.get(key),
  };
  await withService(engine, [notes], () => ({ resources, kv: store }), async (service) => {
    const ready = await service.get("/readyz");
    assertEquals([ready.status, ready.body.checks.store.status], [200, "ok"]);
    isGone = true;
    const gone = await service.get("/readyz");
    assertEquals([gone.status, gone.body.checks.store.status], [503, "unavailable"]);
  });
  await withService(engine, [notes], () => ({ resources }), async (service) => {
    assertEquals(Object.keys((await service.get("/readyz")).body.checks), ["database"]);
  });
});

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
