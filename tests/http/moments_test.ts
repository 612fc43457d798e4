import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import {
  all,
  createApp,
  createdAt,
  integer,
  openDatabase,
  resource,
  type ResourceOptions,
  table,
  text,
  timestamp,
  updatedAt,
} from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { type Service, testOnDialects, withService } from "../support/http.ts";

const ada = { "x-user": "ada" };
const open = {
  public: { read: true },
  create: () => all(),
  update: () => all(),
  delete: () => all(),
} as const;
const capabilities = { enableBatch: true };

const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull(),
  version: integer().notNull().default(0),
  size: integer().notNull().default(1).as("the_size"),
  double: integer().generatedAs("the_size * 2"),
  label: text().defaultSql("'note ' || 1"),
  created: createdAt().as("created_at"),
  updated: updatedAt().as("updated_at"),
});

const past = "1999-01-01T00:00:00.000Z";
const noon = Date.parse("2026-11-27T12:00:00Z");
const at = (minute: number) => new Date(noon + minute * 60_000).toISOString();

/** Runs `work` with a clock that it sets, in minutes after noon. */
async function withClock(
  engine: Parameters<typeof withService>[0],
  options: Partial<ResourceOptions<typeof notes.$inferSelect, typeof notes.$inferInsert>>,
  work: (service: Service, setTo: (minute: number) => void) => Promise<void>,
): Promise<void> {
  let minute = 0;
  const runtime = systemRuntime(() => {});
  const clock = { ...runtime.clock, now: () => noon + minute * 60_000 };
  await withService(engine, [notes], () => ({
    runtime: { ...runtime, clock, cron: undefined },
    resources: [resource(notes, { id: notes.id, auth: open, capabilities, ...options })],
  }), async (service) => {
    const send: Service["send"] = (method, path, body, headers) =>
      service.send(method, path, body, { ...ada, ...headers });
    await work({ ...service, send }, (to) => minute = to);
  });
}

/** `created updated`, in minutes after noon. */
function moments({ created, updated }: { created: string; updated: string }): string {
  return [created, updated].map((text) => (Date.parse(text) - noon) / 60_000).join(" ");
}

for (const versioned of [false, true]) {
  const etag = { versionField: notes.version };
  const name = versioned ? "rows with a version" : "rows";
  testOnDialects(`the moments of ${name} follow every write of the service`, async (engine) => {
    await withClock(engine, versioned ? { etag } : {}, async ({ send, get }, setTo) => {
      const forged = { created: past, updated: past };
      const written = async (method: string, path: string, body: unknown) => {
        const answer = await send(method, `/api/notes${path}`, body);
        assertEquals(answer.status < 300, true, JSON.stringify(answer.body));
        return moments(answer.body.items?.[0] ?? answer.body);
      };
      assertEquals(await written("POST", "", { id: 1, title: "a", ...forged }), "0 0");
      setTo(1);
      assertEquals(await written("PATCH", "/1", { title: "b", ...forged }), "0 1");
      setTo(2);
      assertEquals(await written("PUT", "/1", { title: "c", ...forged }), "0 2");
      setTo(3);
      // Nothing is written, unless a version is counted.
      assertEquals(await written("PATCH", "/1", { ...forged }), versioned ? "0 3" : "0 2");
      setTo(4);
      const items = [{ id: 1, title: "d", ...forged }, { id: 2, title: "e" }];
      assertEquals(await written("POST", "/batch/upsert", { items }), "0 4");
      assertEquals(moments((await get("/api/notes/2")).body), "4 4");
      setTo(5);
      assertEquals(await written("PUT", "/batch", { items: items.slice(0, 1) }), "0 5");
      setTo(6);
      const patch = { filter: "id==1", patch: { title: "f", ...forged } };
      assertEquals((await send("PATCH", "/api/notes/batch", patch)).body, { count: 1 });
      assertEquals(moments((await get("/api/notes/1")).body), "0 6");
      const created = { items: [{ id: 3, title: "g", ...forged }] };
      assertEquals(await written("POST", "/batch", created), "6 6");
      if (!versioned) return;
      setTo(7);
      const ifMatch = (await get("/api/notes/3")).headers.get("etag") ?? "";
      const sent = await send("PATCH", "/api/notes/3", { title: "h" }, { "if-match": ifMatch });
      assertEquals(moments(sent.body), "6 7");
    });
  });
}

testOnDialects("moments are taken from bodies where the resource says so", async (engine) => {
  const fields = { writable: [notes.title, notes.created, notes.updated] };
  await withClock(engine, { fields }, async ({ send }, setTo) => {
    const forged = { created: at(-20), updated: at(-10) };
    const { body } = await send("POST", "/api/notes", { id: 1, title: "a", ...forged });
    assertEquals(moments(body), "-20 -10");
    setTo(1);
    assertEquals(moments((await send("PUT", "/api/notes/1", { title: "b" })).body), "-20 1");
    const moved = await send("PATCH", "/api/notes/1", { updated: at(5) });
    assertEquals(moments(moved.body), "-20 5");
    assertEquals((await send("PATCH", "/api/notes/1", { updated: null })).status, 422);
  });
});

testOnDialects("tags by the moment of update and updatedAt() agree", async (engine) => {
  await withClock(engine, { etag: { updatedAtField: notes.updated } }, async (service) => {
    const { send } = service;
    const first = await send("POST", "/api/notes", { id: 1, title: "a" });
    const second = await send("PATCH", "/api/notes/1", { title: "b" });
    // The clock stands still, and the tag is another one all the same.
    assertEquals(second.body.updated === first.body.updated, false);
    assertEquals(second.headers.get("etag") === first.headers.get("etag"), false);
  });
});

testOnDialects("the database fills in what no body sets", async (engine) => {
  await withClock(engine, {}, async ({ send, db, app }) => {
    const { body } = await send("POST", "/api/notes", { id: 1, title: "a", size: 4, double: 9 });
    assertEquals([body.double, body.label], [8, "note 1"]);
    const changed = await send("PATCH", "/api/notes/1", { size: 5, double: 9 });
    assertEquals(changed.body.double, 10);
    const named = await send("PUT", "/api/notes/1", { title: "a", label: "mine", size: 2 });
    assertEquals([named.body.double, named.body.label], [4, "mine"]);
    const reset = await send("PUT", "/api/notes/1", { title: "a" });
    assertEquals([reset.body.double, reset.body.label], [2, "note 1"]);
    await db.driver.query({ text: `INSERT INTO notes (id, title) VALUES (2, 'b')`, values: [] });
    const { rows: [row] } = await db.sql`SELECT ${notes.created}, ${notes.updated}, ${notes.double}
      FROM ${notes} WHERE ${notes.id} = 2`;
    assertMatch(String(row?.created), /^20\d\d-\d\d-\d\dT/);
    assertEquals(row?.double, 2);
    const fields = app.schema().resources[0]?.fields ?? [];
    const readOnly = fields.filter((field) => field.readOnly === true).map(({ name }) => name);
    assertEquals(readOnly, ["double", "created", "updated"]);
    assertEquals(fields.filter(({ required }) => required).map(({ name }) => name), ["title"]);
  });
});

Deno.test("a tag by another moment than that of updatedAt() is refused", async () => {
  const db = await openDatabase("sqlite::memory:");
  const twice = table("twice", {
    id: integer().primaryKey(),
    moved: updatedAt(),
    created: createdAt(),
    other: timestamp(),
  });
  await db.createTables([twice]);
  for (const updatedAtField of [twice.other, twice.created]) {
    const start = () =>
      createApp({
        db,
        secret: "a secret for the tests only",
        resources: [resource(twice, { id: twice.id, etag: { updatedAtField } })],
      });
    await assertRejects(start, Error, 'etag.updatedAtField must be "moved"');
  }
  await db.close();
});
