import { assert, assertEquals, assertRejects } from "@std/assert";
import { all, createApp, integer, openDatabase, resource, table, text } from "../../mod.ts";
import {
  type IndexBackend,
  memorySearch,
  type SearchAdapter,
  sqliteSearch,
} from "../../exports/search.ts";
import { insertRows, withService } from "../support/http.ts";
import { everyEngine } from "../support/engines.ts";
import {
  as,
  createNotes,
  find,
  notes,
  type SearchEngine,
  searchEngines,
  servedNotes,
  testOnSearchEngines,
  withNotes,
} from "./search_support.ts";

const sqlite = everyEngine.filter(({ name }) => name === "better-sqlite3")
  .map((engine): SearchEngine => ({ name: "FTS5", engine, adapter: () => sqliteSearch() }));

testOnSearchEngines(
  "rows that are there before the start are indexed",
  async ({ engine, adapter }) => {
    const db = await engine.open();
    try {
      await db.createTables([notes]);
      const rows = Array.from({ length: 600 }, (_, index) => ({
        id: index + 1,
        ownerId: "ada",
        title: index % 100 === 7 ? "rare" : "common",
      }));
      await insertRows(db, notes, rows);
      const app = await createApp({
        db,
        secret: "a secret for the tests only",
        search: adapter(),
        resources: [resource(notes, { id: notes.id, auth: { public: { read: true } } })],
      });
      const search = async (q: string) =>
        await (await app.fetch(new Request(`http://test/api/notes/search?q=${q}`))).json();
      assertEquals([(await search("rare")).total, (await search("common")).total], [6, 594]);
      const ready = await (await app.fetch(new Request("http://test/readyz"))).json();
      assertEquals(ready.checks.search.status, "ok");
      await app.close();
    } finally {
      await db.close();
    }
  },
);

testOnSearchEngines(
  "keys of texts and of several columns are found",
  async ({ engine, adapter }) => {
    const pages = table("pages", {
      site: text().primaryKey(),
      path: text().primaryKey(),
      body: text().notNull(),
    });
    const auth = { public: { read: true }, create: () => all(), delete: () => all() };
    await withService(engine, [pages], () => ({
      search: adapter(),
      resources: [resource(pages, { id: [pages.site, pages.path], auth })],
    }), async ({ get, send }) => {
      for (const [site, path] of [["a,b", "count"], ["a", "b,é%"], ["count", "x"]]) {
        const { status } = await send(
          "POST",
          "/api/pages",
          { site, path, body: "needle" },
          as("ada"),
        );
        assertEquals(status, 201);
      }
      const { body } = await get("/api/pages/search?q=needle&highlight=true");
      assertEquals([body.total, body.items.length], [3, 3]);
      assertEquals(
        Object.keys(body.highlights).toSorted(),
        ["a%2Cb,count", "a,b%2C%C3%A9%25", "count,x"].toSorted(),
      );
      await send("DELETE", "/api/pages/a%2Cb,count", undefined, as("ada"));
      assertEquals((await get("/api/pages/search?q=needle")).body.total, 2);
    });
  },
);

Deno.test("a field that is hidden now finds nothing: the index is made again", async () => {
  const folder = await Deno.makeTempDir();
  const url = `sqlite:${folder}/notes.db`;
  const total = async (
    readable: readonly (typeof notes.id | typeof notes.title | typeof notes.body)[],
    q: string,
  ) => {
    const db = await openDatabase(url);
    await db.createTables([notes]);
    const app = await createApp({
      db,
      secret: "a secret for the tests only",
      search: sqliteSearch(),
      resources: [
        resource(notes, {
          id: notes.id,
          auth: { public: { read: true }, create: () => all() },
          fields: { readable },
        }),
      ],
    });
    if (q === "") {
      await insertRows(db, notes, [{ id: 1, ownerId: "a", title: "open", body: "lost" }]);
    }
    const path = q === "" ? "/readyz" : `/api/notes/search?q=${q}`;
    const answer = await (await app.fetch(new Request(`http://test${path}`))).json();
    await app.close();
    return answer.total;
  };
  try {
    await total([notes.id, notes.title, notes.body], "");
    assertEquals(await total([notes.id, notes.body], "lost"), 1);
    assertEquals(await total([notes.id, notes.title], "lost"), 0);
    assertEquals(await total([notes.id, notes.title], "open"), 1);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** An engine outside of the database that fails while `isDown` says so. */
function failingSearch(isDown: (call: "write" | "find") => boolean): SearchAdapter {
  const inner = memorySearch();
  return {
    ...inner,
    kind: "failing",
    openIndex(index, runtime) {
      const backend = inner.openIndex(index, runtime);
      const failing: Partial<IndexBackend> = {
        write: (changes, options) =>
          isDown("write") ? Promise.reject(new Error("down")) : backend.write(changes, options),
        async *find(query, within, signal) {
          if (isDown("find")) throw new Error("down");
          yield* backend.find?.(query, within, signal) ?? [];
        },
      };
      return {
        local: null,
        prepare: () => backend.prepare(),
        markFilled: () => backend.markFilled(),
        keys: (after, most) => backend.keys(after, most),
        matchWords: (words, query) => backend.matchWords(words, query),
        write: (changes, options) => backend.write(changes, options),
        ...failing,
      };
    },
  };
}

const memory = searchEngines.find(({ name }) => name.startsWith("memory"));

Deno.test("a write to an index is tried twice, then reported, and the write succeeds", async () => {
  assert(memory !== undefined);
  let failures = 0;
  let left = 0;
  const reported: unknown[] = [];
  const adapter = () =>
    failingSearch((call) => {
      if (call !== "write" || left === 0) return false;
      left--;
      failures++;
      return true;
    });
  await withNotes({ ...memory, adapter }, async (service) => {
    await createNotes(service, [{ id: 1, title: "first" }]);
    left = 1;
    await createNotes(service, [{ id: 2, title: "second" }]);
    assertEquals([(await find(service, "q=second")).total, failures, reported], [1, 1, []]);
    left = 9;
    await createNotes(service, [{ id: 3, title: "third" }]);
    assertEquals([failures, reported], [3, [{ index: "notes", ids: ["3"] }]]);
    left = 0;
    assertEquals((await find(service, "q=third")).total, 0);
    const kinds = service.observations.map(({ kind }) => kind);
    assertEquals(kinds.filter((kind) => kind === "search_index_failed").length, 2);
  }, {
    search: {
      onIndexError(_error: unknown, failed: unknown) {
        reported.push(failed);
        throw new Error("the handler fails as well");
      },
    },
  });
});

Deno.test("an FTS5 table that fails costs the write nothing but its index entry", async () => {
  const [engine] = sqlite;
  assert(engine !== undefined);
  const reported: unknown[] = [];
  await withNotes(engine, async (service) => {
    await createNotes(service, [{ id: 1, title: "first" }]);
    assertEquals((await find(service, "q=first")).total, 1);
    await service.db.driver.query({ text: "DROP TABLE service_fts_notes", values: [] });
    await createNotes(service, [{ id: 2, title: "second" }, { id: 3, title: "third" }]);
    assertEquals(reported, [{ index: "notes", ids: ["2", "3"] }]);
    assertEquals((await service.get("/api/notes/2", as("ada"))).status, 200);
  }, {
    search: { onIndexError: (_error: unknown, failed: unknown) => void reported.push(failed) },
  });
});

Deno.test("a write that is rolled back leaves the index as it was", async () => {
  const [engine] = sqlite;
  assert(engine !== undefined);
  await withNotes(engine, async (service) => {
    await createNotes(service, [{ id: 1, title: "first" }]);
    const items = [{ id: 2, ownerId: "ada", title: "first" }, {
      id: 1,
      ownerId: "ada",
      title: "x",
    }];
    const { status } = await service.send("POST", "/api/notes/batch", { items }, as("ada"));
    assertEquals([status, (await find(service, "q=first")).ids], [409, [1]]);
    const { rows } = await service.db.driver.query({
      text: "SELECT count(*) FROM service_fts_notes",
      values: [],
    });
    assertEquals(rows, [[1]]);
  });
});

Deno.test("an engine that does not answer is a 503, and other requests work", async () => {
  assert(memory !== undefined);
  const adapter = () => failingSearch((call) => call === "find");
  await withNotes({ ...memory, adapter }, async ({ get }) => {
    const answer = await get("/api/notes/search?q=tea", as("ada"));
    assertEquals([answer.status, answer.body.code], [503, "SEARCH_UNAVAILABLE"]);
    assertEquals(answer.headers.get("retry-after"), "2");
    assert(!JSON.stringify(answer.body).includes("down"));
    assertEquals((await get("/api/notes", as("ada"))).status, 200);
  });
});

Deno.test("a resource without search has none, and wrong options fail the start", async () => {
  const [engine] = sqlite;
  assert(engine !== undefined);
  const off = { search: { enabled: false } };
  await withNotes(engine, async ({ get, app }) => {
    assertEquals((await get("/api/notes/search?q=tea", as("ada"))).status, 404);
    assert(!JSON.stringify(app.resources).includes("search"));
  }, off);
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  const start = (config: Record<string, unknown>) =>
    createApp({
      db,
      secret: "a secret for the tests only",
      search: sqliteSearch(),
      ...servedNotes(),
      ...config,
    });
  const served = servedNotes().resources;
  await assertRejects(
    () => start({ resources: [...served, ...served] }),
    Error,
    "search.indexName",
  );
  for (
    const [search, message] of [
      [{ fields: [notes.secret] }, 'search.fields names "secret", which is not in fields.readable'],
      [{ fields: { nothing: {} } }, 'search.fields names no column "nothing" of it'],
      [{ fields: { title: { weight: 0 } } }, "weight"],
    ] as const
  ) {
    await assertRejects(() => start(servedNotes({ search })), Error, message);
  }
  await db.close();
});

Deno.test("only the columns of the adapter are indexed", async () => {
  const [engine] = sqlite;
  assert(engine !== undefined);
  const adapter = () => sqliteSearch({ columns: ["title"], tablePrefix: "words_" });
  await withNotes({ ...engine, adapter }, async (service) => {
    await createNotes(service, [{ id: 1, title: "here", body: "there" }]);
    assertEquals((await find(service, "q=here")).total, 1);
    assertEquals((await find(service, "q=there")).total, 0);
  });
});

const things = table("things", { id: integer().primaryKey(), n: integer() });

Deno.test("a table without texts has no search", async () => {
  const [engine] = sqlite;
  assert(engine !== undefined);
  await withService(engine.engine, [things], () => ({
    search: sqliteSearch(),
    resources: [resource(things, { id: things.id, auth: { public: true } })],
  }), async ({ get }) => assertEquals((await get("/api/things/search?q=a")).status, 404));
});
