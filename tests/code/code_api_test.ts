import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import {
  all,
  type App,
  boolean,
  createApp,
  eq,
  type HookContext,
  integer,
  json,
  openDatabase,
  Problem,
  procedure,
  resource,
  rsql,
  table,
  text,
  timestamp,
} from "../../mod.ts";
import type { StandardSchema } from "../../exports/options.ts";
import { memorySearch } from "../../exports/search.ts";
import { gate } from "../support/scratch.ts";
import { engines } from "../support/engines.ts";
import { testUnless } from "../support/skip.ts";
import { testOnDialects, testOnEngines, withService } from "../support/http.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull(),
  owner: text(),
  done: boolean(),
  at: timestamp(),
  data: json<unknown>(),
  secret: text(),
});
const entries = table("entries", { id: integer().primaryKey(), what: text().notNull().unique() });

const anything: StandardSchema<unknown> = {
  "~standard": { version: 1, vendor: "here", validate: (value) => ({ value }) },
};

type Calls = Pick<HookContext, "api" | "db" | "isSystem" | "request">;

interface Hook {
  after?(context: HookContext, title: string): Promise<void> | void;
  before?(context: HookContext): Promise<void> | void;
  call?(context: Calls): unknown;
}

/** An app over notes, whose hooks are what a test says, and a log of entries. */
function definitions(hook: Hook) {
  return [
    resource(entries, { id: entries.id, auth: { read: () => all(), create: () => all() } }),
    resource(notes, {
      id: notes.id,
      path: "my-notes",
      fields: {
        readable: [notes.id, notes.title, notes.owner, notes.done, notes.at, notes.data],
        writable: [notes.title, notes.owner, notes.done, notes.at, notes.data],
      },
      search: { fields: [notes.title] },
      capabilities: { enableDelete: false },
      auth: {
        read: (user) => eq(notes.owner, user.id),
        create: (user) => eq(notes.owner, user.id),
        update: (user) => eq(notes.owner, user.id),
      },
      generatedFields: [notes.owner],
      hooks: {
        onBeforeCreate: async (context) => void await hook.before?.(context),
        onAfterCreate: async (context, row) => void await hook.after?.(context, row.title),
      },
      procedures: {
        run: procedure({
          input: anything,
          output: anything,
          handler: async (context) => await hook.call?.(context) ?? null,
        }),
      },
    }),
  ];
}

const ada = { id: "ada" };

testOnEngines("what an after-hook calls is a part of the transaction", async (engine) => {
  let hook: Hook = {};
  const config = () => ({
    search: memorySearch(),
    resources: definitions({
      after: (context, title) => hook.after?.(context, title),
      before: (context) => hook.before?.(context),
      call: (context) => hook.call?.(context),
    }),
  });
  await withService(engine, [notes, entries], config, async ({ app, send, get }) => {
    const api = app.as(ada);
    const mine = api.of(notes);
    const system = app.asSystem();
    const log = async () =>
      (await system.of(entries).list({ orderBy: "what" })).items.map(({ what }) => what);
    const titles = async () =>
      (await system.of(notes).list({ orderBy: "title" })).items.map(({ title }) => title);
    const asAda = { "x-user": "ada" };

    // The log is written with the note, or not at all.
    hook = {
      async after({ api }, title) {
        await api.of(entries).create({ what: `made ${title}` });
        if (title === "bad") throw new Problem("forbidden", "No");
      },
    };
    await mine.create({ title: "tea" });
    await assertRejects(() => mine.create({ title: "bad" }), Problem, "No");
    assertEquals((await send("POST", "/api/my-notes", { title: "bad" }, asAda)).status, 403);
    assertEquals([await log(), await titles()], [["made tea"], ["tea"]]);

    // A refused call leaves the transaction as it was before, on every engine.
    hook = {
      async after({ api, db }) {
        const log = api.of(entries);
        await assertRejects(() => log.create({ what: "made tea" }), Problem, "is taken");
        await assertRejects(() => log.list({ filter: "what=gt" }), Problem);
        await assertRejects(
          () => log.batch.create([{ what: "lost" }, { what: "made tea" }]),
          Problem,
          "is taken",
        );
        const made = await Promise.all([log.create({ what: "a" }), log.create({ what: "b" })]);
        assertEquals(made.map(({ value }) => value.what), ["a", "b"]);
        assertEquals(await log.count(), 3);
        await db.sql`UPDATE ${entries} SET what = ${"c"} WHERE what = ${"a"}`;
      },
    };
    await mine.create({ title: "two" });
    assertEquals(await log(), ["b", "c", "made tea"]);

    // Calls that nothing awaits are a part of it as well; afterwards they are refused.
    const late: HookContext["api"][] = [];
    hook = {
      after({ api }) {
        late.push(api);
        void api.of(entries).create({ what: "d" });
      },
    };
    await mine.create({ title: "three" });
    assertEquals(await log(), ["b", "c", "d", "made tea"]);
    for (const api of late) {
      await assertRejects(() => api.of(entries).create({ what: "e" }), Error, "has ended");
    }

    // A hook that leads to itself ends with an error that says so, and has written nothing.
    hook = { after: async ({ api }) => void await api.of(notes).create({ title: "again" }) };
    await assertRejects(() => mine.create({ title: "loop" }), Error, "have called one another 16");
    hook = { before: async ({ api }) => void await api.of(notes).create({ title: "again" }) };
    await assertRejects(() => mine.create({ title: "loop" }), Error, "have called one another 16");
    assertEquals(await titles(), ["tea", "three", "two"]);

    // A hook of a hook has a part of its own; that of the outer one cannot be used in it.
    const outer: HookContext["api"][] = [];
    hook = {
      async after({ api }, title) {
        outer.push(api);
        if (title === "outer") {
          await api.of(notes).create({ title: "inner" });
          await api.of(entries).create({ what: "outer" });
          return;
        }
        const [around = api] = outer;
        const wrong = () => around.of(entries).create({ what: "wrong" });
        await assertRejects(wrong, Error, "use the api that the hook was given");
        await api.of(entries).create({ what: "inner" });
        await assertRejects(() => api.of(entries).create({ what: "inner" }), Problem);
      },
    };
    await mine.create({ title: "outer" });
    assertEquals(await log(), ["b", "c", "d", "inner", "made tea", "outer"]);
    assertEquals((await get("/api/my-notes/search?q=inner", asAda)).body.total, 1);

    // The user is that of the request, and the system where code asks for it.
    const seen: unknown[] = [];
    hook = {
      before({ user, isSystem, request }) {
        seen.push([user?.id, isSystem, request?.method]);
      },
      async call({ api, isSystem, request }) {
        seen.push([isSystem, request?.method]);
        await api.of(notes).create({ title: "by a procedure" });
        await api.asSystem().of(notes).create({ title: "by the system", owner: "bob" });
        return await api.transaction(async ({ api, db }) => {
          await api.of(notes).create({ title: "in a transaction" });
          await db.sql`UPDATE ${notes} SET owner = ${"eve"} WHERE title = ${"in a transaction"}`;
          return (await api.asSystem().of(notes).list({ filter: eq(notes.owner, "eve") })).items;
        });
      },
    };
    const called = await send("POST", "/api/my-notes/rpc/run", {}, asAda);
    assertEquals(called.body.data.length, 1);
    assertEquals(called.body.data[0].title, "in a transaction");
    assertEquals(seen, [
      [false, "POST"],
      ["ada", false, "POST"],
      [undefined, true, "POST"],
      ["ada", false, "POST"],
    ]);
    const rolledBack = () =>
      api.transaction(async ({ api }) => {
        await api.of(notes).create({ title: "gone" });
        await api.transaction(({ api }) => api.of(notes).create({ title: "gone, too" }));
        assertEquals(await api.of(notes).count({ filter: "title=startswith=gone" }), 2);
        throw new Error("Rolled back");
      });
    await assertRejects(rolledBack, Error, "Rolled back");
    assertEquals(await mine.count({ filter: "title=startswith=gone" }), 0);
  });
});

testOnEngines("a hook whose time is over can write nothing more", async (engine) => {
  const over = Promise.withResolvers<HookContext["api"]>();
  const hang = gate();
  // The timer of a hook's limit does not keep a process alive, so another timer must.
  const alive = setInterval(() => undefined, 1_000);
  const config = () => ({
    resources: [
      resource(entries, { id: entries.id, auth: { create: () => all(), read: () => all() } }),
      resource(notes, {
        id: notes.id,
        auth: { create: () => all() },
        hooks: {
          timeoutMs: 500,
          async onAfterCreate({ api }) {
            await api.of(entries).create({ what: "in time" });
            over.resolve(api);
            await hang.passed;
          },
        },
      }),
    ],
  });
  await withService(engine, [notes, entries], config, async ({ app, send }) => {
    const api = app.as(ada);
    await assertRejects(() => api.of(notes).create({ title: "x" }), Error, "longer than 500 ms");
    const late = await over.promise;
    await assertRejects(() => late.of(entries).create({ what: "late" }), Error, "has ended");
    assertEquals(
      (await send("POST", "/api/notes", { title: "x" }, { "x-user": "ada" })).status,
      500,
    );
    assertEquals(await api.of(entries).count(), 0);
    hang.open();
  }).finally(() => clearInterval(alive));
});

const postgres = engines.filter(({ name }) => name === "postgres");
for (const engine of postgres) {
  const name = "a transaction that the database wants again is tried again as a whole";
  testUnless(engine.ignore ?? null, name, async () => {
    const config = () => ({
      resources: definitions({
        after: async ({ api }, title) => void await api.of(entries).create({ what: `of ${title}` }),
      }),
    });
    await withService(engine, [notes, entries], config, async ({ app, db }) => {
      const run = (text: string) => db.query({ text, values: [] });
      await run("CREATE SEQUENCE tries");
      await run(`CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF nextval('tries') < 3 THEN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END IF;
      RETURN NEW; END $$`);
      await run(
        "CREATE TRIGGER once BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION fail_once()",
      );
      // In a hook, and where code has begun the transaction.
      await app.as(ada).of(notes).create({ title: "one" });
      await run("SELECT setval('tries', 1)");
      let tries = 0;
      await app.as(ada).transaction(async ({ api }) => {
        tries++;
        await api.of(notes).create({ title: "two" });
      });
      const system = app.asSystem();
      const list = await system.of(entries).list({ orderBy: "id" });
      assertEquals(list.items.map(({ what }) => what), ["of one", "of two"]);
      assertEquals([await system.of(notes).count(), tries], [2, 2]);
    });
  });
}

Deno.test("the system has all rows and fields, and what capabilities switch off", async () => {
  await withApp({}, async (app) => {
    const api = app.as(ada);
    const system = app.asSystem();
    const { value } = await system.of("my-notes").create({
      title: "tea",
      owner: "bob",
      secret: "hidden",
    });
    assertEquals(value["secret"], "hidden");
    assertEquals(await api.of(notes).list(), { items: [], nextCursor: null, hasMore: false });
    await assertRejects(() => api.of(notes).list({ filter: eq(notes.secret, "hidden") }), Problem);
    await assertRejects(() => api.of(notes).list({ filter: rsql`secret==${"hidden"}` }), Problem);
    assertEquals(await system.of(notes).count({ filter: eq(notes.secret, "hidden") }), 1);
    const refused = await assertRejects(() => api.of(notes).delete(1), Problem);
    assertEquals(refused.slug, "method-not-allowed");
    await system.of(notes).delete(1);
    // A procedure has a user, or is public.
    await assertRejects(() => system.of("my-notes").rpc["run"]?.({}) ?? Promise.resolve(), Problem);
  });
});

testOnDialects("what a deferred key refuses at the commit is a problem", async (engine) => {
  const db = await engine.open();
  const notes = table("deferred", {
    id: integer().primaryKey(),
    parent: integer(),
    data: json(),
  });
  const key = db.dialect.engine === "sqlite" ? "INTEGER" : "int8";
  await db.query({
    text: `CREATE TABLE deferred (
      id ${key} PRIMARY KEY,
      parent ${key} REFERENCES deferred (id) DEFERRABLE INITIALLY DEFERRED,
      data ${db.dialect.engine === "sqlite" ? "TEXT" : "jsonb"}
    )`,
    values: [],
  });
  const app = await createApp({
    db,
    secret: "sixteen or more characters",
    resources: [resource(notes, {
      id: notes.id,
      hooks: {
        onAfterCreate: (_context, row) => {
          row.parent = 99;
          if (Array.isArray(row.data)) row.data.push(99);
        },
      },
    })],
  });
  try {
    // An unchecked program may return no promise.
    assertEquals(await app.asSystem().transaction((() => 5) as never), 5);
    const problem = await assertRejects(
      () =>
        app.asSystem().transaction(async ({ api }) => {
          await api.deferred.create({ id: 1, parent: 7 });
        }),
      Problem,
    );
    assertEquals([problem.slug, problem.status], ["conflict", 409]);
    const { value } = await app.asSystem().deferred.create({ id: 1, parent: 1, data: [1] });
    assertEquals([value.parent, value.data], [1, [1]], "a hook has a copy of the row");
  } finally {
    await app.close();
  }
});

Deno.test("a body from code is copied, and holds what JSON can hold", async () => {
  await withApp({}, async (app) => {
    const api = app.as(ada).of(notes);
    const data = { list: [1, undefined, { at: new Date(0) }], no: undefined, big: 2n ** 70n };
    const { value } = await api.create({ title: "x", at: new Date(5).toISOString(), data });
    const stored = { list: [1, null, { at: "1970-01-01T00:00:00.000Z" }], big: 2n ** 70n };
    assertEquals(value.data, stored);
    assertEquals(data.list.length, 3);
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    for (
      const [wrong, message] of [
        [circle, "nested deeper"],
        [new Map(), "a Map"],
        [() => 1, "a function"],
        [[NaN], "not finite"],
        [new Date(NaN), "a date is invalid"],
      ] as const
    ) {
      await assertRejects(() => api.create({ title: "x", data: wrong }), Problem, message);
    }
    const parsed = JSON.parse('{"__proto__":{"title":"polluted"}}');
    await assertRejects(() => api.create(parsed), Problem, "title is required");
  });
});

Deno.test("a call whose signal was aborted wrote its row, and a hook changed the caller's user", async () => {
  const caller = { id: "ada" };
  const before = ({ user }: HookContext) => void Object.assign(user ?? {}, { id: "eve" });
  await withApp({ before }, async (app) => {
    const api = app.as(caller).of(notes);
    const count = await api.count();
    const signal = AbortSignal.abort(new Error("left"));
    await assertRejects(() => api.create({ title: "x" }, { signal }), Error, "left");
    assertEquals(await api.count(), count);
    await api.create({ title: "x" });
    assertEquals(caller, { id: "ada" });
  });
});

Deno.test("a read ends at its limit in a transaction of SQLite too, and with the reason of its signal", async () => {
  const db = await openDatabase("sqlite::memory:");
  const words = table("words", { id: integer().primaryKey(), word: text() });
  await db.createTables([words]);
  await db.query({
    text: `INSERT INTO words (word) WITH RECURSIVE n (i) AS (
      SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000
    ) SELECT hex(zeroblob(100)) || i FROM n`,
    values: [],
  });
  const app = await createApp({
    db,
    secret: "sixteen or more characters",
    queryTimeoutMs: 20,
    resources: [resource(words, { id: words.id })],
  });
  const filter = Array.from("abcdef", (letter) => `word=ilike=%${letter}%q%x%y%`).join(",");
  try {
    const problem = await assertRejects(
      () => app.asSystem().transaction(({ api }) => api.words.count({ filter })),
      Problem,
    );
    assertEquals(problem.slug, "query-too-expensive");
    const left = new AbortController();
    const counted = app.asSystem().words.count({ filter, signal: left.signal });
    left.abort(new Error("left"));
    await assertRejects(() => counted, Error, "left");
  } finally {
    await app.close();
  }
});

Deno.test("mistakes in code are errors that say so", async () => {
  await withApp({}, async (app) => {
    const api = app.as(ada);
    // A program that the compiler has not checked.
    const unchecked = { filtr: "title==x" } as Record<never, never>;
    await assertRejects(() => api.of(notes).list(unchecked), TypeError, 'Did you mean "filter"');
    await assertRejects(
      () => api.of(notes).list({ filter: eq(entries.what, "x") }),
      Error,
      '"what" is another table\'s column',
    );
    await assertRejects(() => api.of(notes).get(undefined), TypeError, "as the key of a row");
    assertThrows(() => api.of("note"), Error, 'There is no resource "note"');
    assertThrows(() => app.as({ id: "" }), TypeError, "a user has an id");
    assertEquals(await Promise.resolve(api), api);
    assertMatch(JSON.stringify({ api }), /^\{"api":\{\}\}$/);
    assert(!("then" in api));
  });
});

async function withApp(hook: Hook, work: (app: App) => Promise<void>): Promise<void> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes, entries]);
  const app = await createApp({
    db,
    secret: "sixteen or more characters",
    resources: definitions(hook),
  });
  try {
    await work(app);
  } finally {
    await app.close();
    await db.close();
  }
}
