/** The filter operators `=match=` and `=tsquery=` on columns of the Postgres type `tsvector`. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  all,
  type App,
  createApp,
  integer,
  openDatabase,
  resource,
  rsql,
  table,
  text,
} from "../../mod.ts";
import { postgresSearch } from "../../exports/search.ts";
import { compileFilter } from "../../src/compile/where.ts";
import { parseFilter } from "../../src/filter/syntax/parse_filter.ts";
import { resolveFilter } from "../../src/filter/resolve_filter.ts";
import { createOperatorRegistry } from "../../src/filter/operators/operator_registry.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { sql, toStatement } from "../../src/sql/fragment.ts";
import { openEventStream } from "../support/event_stream.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { run, runScript } from "../support/scratch.ts";

const script = `
CREATE TABLE notes (id integer PRIMARY KEY, title text NOT NULL, secret text NOT NULL DEFAULT '',
  fts tsvector GENERATED ALWAYS AS (setweight(to_tsvector('english', title), 'A')) STORED,
  secret_fts tsvector GENERATED ALWAYS AS (to_tsvector('english', secret)) STORED);
CREATE INDEX ON notes USING gin (fts);
CREATE TABLE films (id integer PRIMARY KEY, title text NOT NULL, fulltext tsvector NOT NULL);
CREATE TRIGGER films_fulltext BEFORE INSERT OR UPDATE ON films FOR EACH ROW EXECUTE FUNCTION
  tsvector_update_trigger('fulltext', 'pg_catalog.french', 'title');
CREATE TABLE books (id integer PRIMARY KEY, title text NOT NULL, words tsvector);
CREATE FUNCTION books_words() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN NEW.words := to_tsvector('simple', NEW.title); RETURN NEW; END $$;
CREATE TRIGGER books_words BEFORE INSERT OR UPDATE ON books FOR EACH ROW EXECUTE FUNCTION books_words();
CREATE TABLE plain (id integer PRIMARY KEY, words tsvector);
INSERT INTO notes VALUES (1, 'The fat cats sat on a mat', ''), (2, 'A fat rat, running', ''),
  (3, 'Dogs run', ''), (4, 'Catalogues', 'cats');
INSERT INTO notes SELECT n, 'Filler ' || n FROM generate_series(1000, 4000) AS n;
INSERT INTO films VALUES (1, 'Les chevaux amusants');
INSERT INTO books VALUES (1, 'The running'), (2, 'Run');
INSERT INTO plain VALUES (1, 'cat:1');
VACUUM ANALYZE notes;
`;

/** The ids of the notes that each filter finds. */
const found: Readonly<Record<string, readonly number[]>> = {
  "fts=match=cat": [1],
  "fts=match=running": [2, 3],
  'fts=match="fat -rat"': [1],
  'fts=match="\\"fat cat\\" or dog"': [1, 3],
  'fts=match="\\"cat fat\\""': [],
  'fts=match=("running",simple)': [],
  "fts=match=(run,pg_catalog.simple)": [2, 3],
  'fts=match=""': [],
  "not(fts=match=fat);id<4": [3],
  "fts=match=fat;fts=match=(cat)": [1],
  'fts=tsquery="fat & (cat | rat) & !mat"': [2],
  "fts=tsquery=cat:*": [1, 4],
  'fts=tsquery=("cat:A",english)': [1],
  'fts=tsquery="fat <-> cat"': [1],
};

const refused: Readonly<Record<string, string>> = {
  'fts=tsquery="fat cat"': 'is not a tsquery like "fat & cat:*"',
  "fts=match=(cat,klingon)": "in a text search configuration that exists",
  'fts=match=(cat,"")': "in a text search configuration that exists",
  'fts=match=(cat,"-")': "in a text search configuration that exists",
  "fts=match=(cat,99999999)": "in a text search configuration that exists",
  'fts=match=(fat,"english\'); --")': "in a text search configuration that exists",
  [`fts=tsquery="${"!".repeat(60)}cat"`]: 'is not a tsquery like "fat & cat:*"',
  [`fts=match="${"-".repeat(2_000)}a"`]: 'is not a tsquery like "fat & cat:*"',
  "fts=match=(a,b,c)": "the operator takes a search, and at most the name of",
  "fts=match=null": "must not be null",
  "title=match=cat": "searches only tsvector columns of Postgres; GET /search",
  "secret_fts=match=cat": "there is no field of this name to filter by",
  "secretFts=tsquery=cat": "there is no field of this name to filter by",
};

testOnPostgres("columns of the type tsvector are searched by filters", async (url) => {
  const db = await openDatabase(url);
  // The timers of a service keep no process alive, and the stream waits for one.
  const alive = setInterval(() => {}, 1_000);
  let app: App | null = null;
  try {
    await runScript(db.driver, script);
    const tables = (await db.introspect()).tables;
    const named = (name: string) => tables.find((table) => table.name === name)!;
    const notes = named("notes");
    app = await createApp({
      db,
      changes: { mode: "triggers" },
      search: postgresSearch(),
      secret: "a secret for the tests only",
      runtime: systemRuntime(() => {}),
      auth: {
        middleware: async (context, next) => {
          context.set("user", { id: "ada" });
          await next();
        },
      },
      resources: [
        resource(notes, {
          id: ["id"],
          auth: { public: true, create: all, update: all },
          fields: { readable: ["id", "title", "fts"] },
        }),
        resource(notes, {
          path: "cats",
          id: ["id"],
          auth: { read: () => rsql`fts=match=${"cat"}` },
          search: { enabled: false },
        }),
        ...["films", "books", "plain"].map((name) =>
          resource(named(name), { id: ["id"], auth: { public: true }, search: { enabled: false } })
        ),
      ],
    });
    const { fetch } = app;
    const send = async (path: string, method = "GET", body?: unknown) => {
      const headers = { "content-type": "application/json" };
      const response = await fetch(
        new Request(`http://test/api/${path}`, {
          ...{ method, headers, body: body === undefined ? null : JSON.stringify(body) },
        }),
      );
      return { status: response.status, body: await response.json() };
    };
    const ids = async (path: string, filter = "") => {
      const { status, body } = await send(`${path}?filter=${encodeURIComponent(filter)}`);
      assertEquals(status, 200, `${filter} ${JSON.stringify(body)}`);
      return body.items.map(({ id }: { id: number }) => id);
    };
    for (const [filter, expected] of Object.entries(found)) {
      assertEquals(await ids("notes", filter), expected, filter);
    }
    for (const [filter, message] of Object.entries(refused)) {
      const { status, body } = await send(`notes?filter=${encodeURIComponent(filter)}`);
      assertEquals(status, 400, filter);
      assertStringIncludes(body.detail, message);
    }
    // The configuration is that of the trigger, or that of the trigger's function.
    assertEquals(await ids("films", "fulltext=match=cheval;fulltext=match=amusant"), [1]);
    assertEquals(await ids("books", "words=match=running"), [1]);
    // Otherwise, it is the default of the database.
    assertEquals(await ids("plain", "words=match=cats"), [1]);
    await run(db, "SELECT set_config('default_text_search_config', 'simple', false)");
    assertEquals(await ids("cats"), [1]);

    // The column's index finds the rows.
    const context = { table: notes, operators: createOperatorRegistry({}), mayFilter: () => true };
    const filter = resolveFilter(parseFilter("fts=match=cat")!, context);
    const where = compileFilter(filter, db.dialect);
    const plan = await db.driver.query(
      toStatement(sql`EXPLAIN SELECT id FROM notes WHERE ${where}`, db.dialect.placeholder),
    );
    assertStringIncludes(plan.rows.flat().join("\n"), "Bitmap Index Scan on notes_fts_idx");

    // The search index holds the title, and not the positions of its words.
    assertEquals((await send("notes/search?q=sat")).body.items.length, 1);
    assertEquals((await send("notes/search?q=7")).body.items, []);

    const path = "http://test/api/notes/subscribe?filter=fts=match=cat";
    const stream = await openEventStream(
      async (signal) => await fetch(new Request(path, { signal })),
      () => {},
    );
    await stream.untilSynced();
    await send("notes/3", "PATCH", { title: "Dogs and cats" });
    await send("notes/1", "PATCH", { title: "Mice" });
    const events = await stream.take(2);
    assertEquals(events.map(({ type, data }) => [type, data.id]), [["added", 3], ["removed", 1]]);
    await stream.close();
    const { body } = await send("notes/subscribe?filter=fts=tsquery=%22a%20b%22");
    assertEquals(body.status, 400);
  } finally {
    clearInterval(alive);
    await app?.close();
    await db.close();
  }
});

Deno.test("sqlite refuses the operators of tsvector columns, and names search", async () => {
  const db = await openDatabase("sqlite::memory:");
  const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
  await db.createTables([notes]);
  const app = await createApp({
    db,
    resources: [resource(notes, { id: notes.id, auth: { public: true } })],
  });
  const response = await app.fetch(new Request("http://test/api/notes?filter=title=match=cat"));
  const { detail } = await response.json();
  assertEquals(response.status, 400);
  assertStringIncludes(detail, "GET /search searches other columns");
  await app.close();
  await db.close();
});
