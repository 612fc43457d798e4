import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { all, type App, createApp, type Database, openDatabase, resource } from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";

const functions = new URL("../fixtures/calibre_functions.ts", import.meta.url);

/** As Calibre makes them. */
const schema = `
  CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT NOT NULL, sort TEXT, uuid TEXT);
  CREATE TABLE links (id INTEGER PRIMARY KEY, book INTEGER NOT NULL, author TEXT NOT NULL);
  CREATE TRIGGER books_insert AFTER INSERT ON books BEGIN
    UPDATE books SET sort = title_sort(NEW.title), uuid = uuid4() WHERE id = NEW.id; END;
  CREATE TRIGGER books_update AFTER UPDATE ON books BEGIN
    UPDATE books SET sort = title_sort(NEW.title) WHERE id = NEW.id AND OLD.title <> NEW.title; END;
  CREATE VIEW meta AS SELECT id, title,
    (SELECT sortconcat(id, author) FROM links WHERE book = books.id) AS authors,
    (SELECT concat(author) FROM links WHERE book = books.id) AS list FROM books;
  CREATE VIEW shown AS SELECT id, title, books_list_filter(id) AS is_shown FROM books;`;

for (const scheme of ["sqlite", "node-sqlite"]) {
  const test = (name: string, work: (service: Service) => Promise<void>) =>
    Deno.test(`${name} (${scheme})`, async () => {
      const path = await Deno.makeTempFile({ suffix: ".db" });
      const program = new DatabaseSync(path);
      program.exec(schema);
      program.close();
      const db = await openDatabase(`${scheme}:${path}`, { functions });
      const { app, failures } = await serviceOf(db);
      try {
        await work({ db, failures, send: sender(app) });
      } finally {
        await app.close();
        await db.close();
        await Deno.remove(path);
      }
    });

  test("writes of a table whose triggers call functions of the application", async ({ db, send }) => {
    assertEquals((await db.introspect()).refusedWrites, []);
    const one = await send("POST", "books", { title: "The Dispossessed" });
    const other = await send("POST", "books", { title: "A Wizard of Earthsea" });
    assertEquals([one.status, other.status], [201, 201]);
    const rows = async () => (await send("GET", "books")).body.items;
    const [first, second] = await rows();
    assertEquals([first.sort, second.sort], ["Dispossessed, The", "Wizard of Earthsea, A"]);
    assertMatch(first.uuid, /^[0-9a-f-]{36}$/);
    assertEquals(first.uuid === second.uuid, false);
    assertEquals((await send("PATCH", "books/1", { title: "The Telling" })).status, 200);
    assertEquals((await rows())[0].sort, "Telling, The");
    const batch = [{ title: "The Left Hand" }, { title: "The Lathe" }, { title: "Always" }];
    assertEquals((await send("POST", "books/batch", { items: batch })).status, 201);
    const uuids = new Set((await rows()).map(({ uuid }: { uuid: string }) => uuid));
    assertEquals(uuids.size, 5);
  });

  test("views call functions and aggregates of the application", async ({ send }) => {
    for (const title of ["b", "a"]) await send("POST", "books", { title });
    for (const author of ["Z", "Y", "X"]) await send("POST", "links", { book: 1, author });
    const [first, second] = (await send("GET", "meta")).body.items;
    assertEquals([first.authors, first.list], ["Z & Y & X", "Z,Y,X"]);
    assertEquals([second.authors, second.list], ["", null]);
    const filtered = await send("GET", "shown?filter=is_shown==0");
    assertEquals(filtered.body.items.map(({ id }: { id: number }) => id), [2]);
  });

  test("an index calls a function that is declared deterministic", async ({ db }) => {
    await db.driver.query({
      text: "CREATE UNIQUE INDEX backwards ON books (reversed(title))",
      values: [],
    });
    await db.driver.query({ text: "INSERT INTO books (title) VALUES ('abc')", values: [] });
    // EXPLAIN runs nothing, so that it does not notice by itself that the index is new.
    await db.driver.query({ text: "SELECT 1 FROM books", values: [] });
    const { rows } = await db.driver.query({
      text: "EXPLAIN QUERY PLAN SELECT id FROM books WHERE reversed(title) = 'cba'",
      values: [],
    });
    assertMatch(String(rows), /USING INDEX backwards/);
  });

  test("a reader thread has the functions as well", async ({ db, send }) => {
    await send("POST", "books", { title: "The Word" });
    await db.driver.threads?.start();
    const { signal } = new AbortController();
    const limits = { identity: "a", signal, maxBytes: 1_000_000, timeoutMs: 60_000, isLong: true };
    const reads = db.driver.reads(limits);
    const { rows } = await reads.query({
      text: "SELECT title_sort(title), (SELECT concat(column1) FROM (VALUES (1), (2))) FROM books",
      values: [],
    });
    assertEquals(rows, [["Word, The", "1,2"]]);
  });

  test("values of every kind are what they are where they are bound", async ({ db }) => {
    const first = async (text: string) =>
      (await db.driver.query({ text: `SELECT ${text}`, values: [] })).rows[0]?.map(String);
    assertEquals(
      await first(
        "kind_of(1), kind_of(9007199254740993), kind_of(0.5), kind_of('a'), kind_of(NULL), kind_of(x'0001')",
      ),
      ["number 1", "bigint 9007199254740993", "number 0.5", "string a", "object null", "bytes 2"],
    );
    const results = ["whole", "part", "large", "true", "bytes", "nothing"].map((kind) =>
      `typeof(given('${kind}')) || ' ' || ifnull(hex(given('${kind}')), '')`
    );
    assertEquals(await first(results.join(", ")), [
      "integer 37",
      "real 302E35",
      "integer 39303037313939323534373430393933",
      "integer 31",
      "blob 010002",
      "null ",
    ]);
  });

  test("a function that fails undoes its write alone", async ({ db, failures, send }) => {
    await db.driver.query({
      text: `CREATE TRIGGER checked AFTER INSERT ON links WHEN NEW.author <> 'good'
        BEGIN SELECT given(NEW.author); END`,
      values: [],
    });
    const authors = ["good", "promise", "good", "too-large", "other", "whole", "good"];
    const answers = await Promise.all(
      authors.map((author) => send("POST", "links", { book: 1, author })),
    );
    assertEquals(answers.map(({ status }) => status), [201, 500, 201, 500, 500, 201, 201]);
    assertEquals((await send("GET", "links/count")).body.count, 4);
    assertEquals(
      [...failures].sort().map((text) => text.replace(/: a string.*/, "")),
      [
        "The function given of the application failed: there is no other",
        "The function given of the application gave no value of SQL",
        "The function given of the application gave no value of SQL",
      ],
    );
    assertEquals(JSON.stringify(answers).includes("application"), false);
  });

  test("an aggregate that fails ends its statement alone", async ({ db }) => {
    const failing = "SELECT sortconcat(1, 'a'), failing(column1) FROM (VALUES (1), (2))";
    const read = (text: string) => db.driver.query({ text, values: [] });
    for (const text of [failing, `${failing} GROUP BY column1`]) {
      const error = await Promise.try(() => read(text)).then(() => "none", String);
      assertEquals(error, "Error: The function failing of the application failed: it is over");
    }
    assertEquals((await read("SELECT concat(column1) FROM (VALUES (1), (2))")).rows, [["1,2"]]);
  });

  const refused: readonly (readonly [string, string])[] = [
    ["export default 1", "Cannot take default of "],
    ["export const n = 1", "Cannot take n of "],
    ["export async function later() {}", "Cannot take later of "],
    ["export function* more() {}", "Cannot take more of "],
    ["export const half = { start() {}, step() {} }", "Cannot take half of "],
    ["export function Trim() {}", "Cannot add the function Trim to SQL: SQLite has one"],
    ["export function service_fold() {}", "Cannot add the function service_fold to SQL: such"],
    ["export {", "Cannot load the functions of "],
  ];
  Deno.test(`a module of other exports is refused by name (${scheme})`, async () => {
    const fails = async (options: Parameters<typeof openDatabase>[1], message: string) => {
      await assertRejects(() => openDatabase(`${scheme}::memory:`, options), Error, message);
    };
    for (const [source, message] of refused) {
      await fails({ functions: `data:text/javascript,${encodeURIComponent(source)}` }, message);
    }
    await fails({ extensions: ["./none.so"] }, "Cannot load the extension ");
  });
}

Deno.test("functions and extensions are refused for a Postgres", async () => {
  for (const url of ["postgres://127.0.0.1:1/none", "pglite::memory:"]) {
    for (const options of [{ functions }, { extensions: ["a.so"] }]) {
      const failure = await openDatabase(url, options).then(() => "none", String);
      assertMatch(failure, /Cannot open the database: (functions|extensions) belongs to SQLite/);
    }
  }
});

interface Service {
  readonly db: Database;
  /** The messages of the errors that 500 hides from the client. */
  readonly failures: readonly string[];
  readonly send: ReturnType<typeof sender>;
}

async function serviceOf(db: Database) {
  const failures: string[] = [];
  const rights = { public: { read: true }, create: () => all(), update: () => all() };
  const { tables } = await db.introspect();
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    runtime: systemRuntime((event) => {
      if (event.kind === "request_failed") {
        failures.push(String(event.error).replace("Error: ", ""));
      }
    }),
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ada" });
        await next();
      },
    },
    resources: tables.map((table) => resource(table, { id: "id", auth: rights })),
  });
  return { app, failures };
}

function sender(app: App) {
  return async (method: string, path: string, body?: unknown) => {
    const headers = { "content-type": "application/json" };
    const request = new Request(`http://test/api/${path}`, {
      method,
      ...(body === undefined ? {} : { headers, body: JSON.stringify(body) }),
    });
    const response = await app.fetch(request);
    return { status: response.status, body: await response.json() };
  };
}
