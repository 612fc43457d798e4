import { assertEquals } from "@std/assert";
import { all, type App, createApp, resource, type ResourceOptions } from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import type { Engine } from "../support/engines.ts";
import { testOnEngines, testOnEveryEngine } from "../support/http.ts";
import { runScript } from "../support/scratch.ts";

/** `$serial` is a number that the database counts up. */
const script = `
  CREATE TABLE shelves (id $serial, code text UNIQUE, parent integer REFERENCES shelves (id));
  CREATE TABLE books (
    id $serial,
    isbn text UNIQUE,
    secret text UNIQUE,
    token text, part integer,
    shelf integer REFERENCES shelves (id),
    later integer REFERENCES shelves (id) DEFERRABLE INITIALLY DEFERRED,
    place integer,
    "the title" text CHECK ("the title" <> ''),
    pages integer CONSTRAINT some_pages CHECK (pages > 0),
    low integer, high integer,
    hint text,
    rated integer,
    must integer NOT NULL DEFAULT 1,
    grade $positive,
    CHECK (low < high),
    UNIQUE (shelf, place), UNIQUE (part, token)
  );
  CREATE UNIQUE INDEX of_hints ON books (lower(hint));
  CREATE TABLE ratings (id $serial, isbn text UNIQUE, pages integer CHECK (pages > 5));
  INSERT INTO shelves (id, code) VALUES (1, 'a');
  INSERT INTO ratings (isbn) VALUES ('taken');
`;

const setups = {
  sqlite: [
    script.replaceAll("$serial", "INTEGER PRIMARY KEY")
      .replace("$positive", "integer CHECK (grade > 0)"),
    // Refusals of triggers and of what they write to are about no field of the row.
    `CREATE TRIGGER rules BEFORE INSERT ON books WHEN NEW.rated IS NOT NULL BEGIN
      SELECT RAISE(ABORT, 'books.isbn: the isbn is secret');
    END`,
    `CREATE TRIGGER copies AFTER INSERT ON books WHEN NEW.hint = 'copy' BEGIN
      INSERT INTO ratings (isbn, pages) VALUES (NEW.isbn, NEW.pages);
    END`,
    `CREATE TRIGGER voids AFTER INSERT ON books WHEN NEW.hint = 'void' BEGIN
      UPDATE books SET must = NULL WHERE id = NEW.id;
    END`,
  ],
  postgres: [
    "CREATE DOMAIN positive AS integer CHECK (VALUE > 0);\n" +
    script.replaceAll("$serial", "serial PRIMARY KEY").replace("$positive", "positive"),
    `SELECT setval('shelves_id_seq', 10)`,
    `CREATE FUNCTION rules() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NEW.rated IS NOT NULL THEN RAISE 'books.isbn: the isbn is secret'; END IF;
      IF NEW.hint = 'copy' THEN INSERT INTO ratings (isbn, pages) VALUES (NEW.isbn, NEW.pages); END IF;
      IF NEW.hint = 'void' THEN NEW.must := NULL; END IF;
      RETURN NEW; END $$`,
    `CREATE TRIGGER rules BEFORE INSERT ON books FOR EACH ROW EXECUTE FUNCTION rules()`,
  ],
};

const rights = {
  public: true,
  create: () => all(),
  update: () => all(),
  delete: () => all(),
} as const;

async function withBooks(
  engine: Engine,
  work: (
    send: (method: string, path: string, body?: unknown) => Promise<unknown[]>,
  ) => Promise<void>,
): Promise<void> {
  const db = await engine.open();
  let app: App | null = null;
  try {
    const [first = "", ...others] = setups[db.dialect.engine];
    await runScript(db.driver, first);
    for (const text of others) await db.driver.query({ text, values: [] });
    const { tables } = await db.introspect();
    app = await createApp({
      db,
      secret: "a secret for the tests only",
      runtime: systemRuntime(() => {}),
      auth: {
        middleware: async (context, next) => {
          context.set("user", { id: "ada" });
          await next();
        },
      },
      resources: tables.map((table) => {
        const options: ResourceOptions<Record<string, unknown>> = {
          id: "id",
          auth: rights,
          nestedWrites: table.name !== "ratings",
        };
        const isBooks = table.name === "books";
        const readable = table.columns.map(({ name }) => name).filter((name) =>
          name !== "secret" && name !== "token"
        );
        return resource(table, isBooks ? { ...options, fields: { readable } } : options);
      }),
    });
    const { fetch } = app;
    await work(async (method, path, body) => {
      const answer = await fetch(
        new Request(`http://test/api/${path}`, {
          method,
          headers: { "content-type": "application/json" },
          body: body === undefined ? null : JSON.stringify(body),
        }),
      );
      const text = await answer.text();
      const { status } = answer;
      if (status < 400) return [status];
      const { detail, details = {} } = JSON.parse(text);
      const { errors, ...place } = details;
      return [status, ...errors ?? [detail], ...Object.keys(place).length === 0 ? [] : [place]];
    });
  } finally {
    await app?.close();
    await db.close();
  }
}

const taken = "is taken by another row";
const conflict = "Cannot create: another row has these values";

testOnEveryEngine(
  "a row that the database refuses names its fields, and no hidden one",
  (engine) =>
    withBooks(engine, async (send) => {
      const create = (body: unknown) => send("POST", "books", body);
      assertEquals(await create({ isbn: "1", hint: "Ä", shelf: 1, place: 1 }), [201]);
      assertEquals(await create({ isbn: "1" }), [409, { path: "isbn", message: taken }]);
      assertEquals(await create({ shelf: 1, place: 1 }), [
        409,
        { path: "shelf", message: `${taken}, together with place` },
        { path: "place", message: `${taken}, together with shelf` },
      ]);
      assertEquals(await create({ id: 50, hint: "x" }), [201]);
      assertEquals(await create({ hint: "X" }), [409, { path: "hint", message: taken }]);
      assertEquals(await create({ secret: "1" }), [201]);
      assertEquals(await create({ secret: "1" }), [409, conflict]);
      assertEquals(await create({ token: "1", part: 1 }), [201]);
      assertEquals(await create({ token: "1", part: 1 }), [409, conflict]);
      const check = "does not pass a check of the database";
      assertEquals(await create({ "the title": "" }), [422, {
        path: "the title",
        message: check,
      }]);
      assertEquals(await create({ pages: 0 }), [422, { path: "pages", message: check }]);
      assertEquals(await create({ grade: 0 }), [422, { path: "grade", message: check }]);
      assertEquals(await create({ hint: "void" }), [422, {
        path: "must",
        message: "must not be null",
      }]);
      assertEquals(await create({ low: 2, high: 1 }), [
        422,
        { path: "low", message: `${check}, together with high` },
        { path: "high", message: `${check}, together with low` },
      ]);
      const none = "refers to no row";
      assertEquals(await create({ shelf: 9 }), [409, { path: "shelf", message: none }]);
      assertEquals(await create({ later: 9 }), [409, { path: "later", message: none }]);
      assertEquals(await create({ shelf: 1, later: 1, place: 2 }), [201]);

      assertEquals(await send("PATCH", "books/1", { shelf: 9 }), [409, {
        path: "shelf",
        message: none,
      }]);
      assertEquals(await send("PATCH", "books/50", { isbn: "1" }), [409, {
        path: "isbn",
        message: taken,
      }]);
      assertEquals(await send("PATCH", "shelves/1", { parent: 9 }), [409, {
        path: "parent",
        message: none,
      }]);
      const used = "Cannot delete: another row refers to this one";
      assertEquals(await send("DELETE", "shelves/1"), [409, used]);

      // What is about another table stays out; what a trigger says does not.
      const refused = "Cannot create: a value is missing or not allowed";
      assertEquals(await create({ isbn: "taken", hint: "copy" }), [409, conflict]);
      assertEquals(await create({ isbn: "2", pages: 3, hint: "copy" }), [422, refused]);
      assertEquals(await create({ rated: 1 }), [422, "books.isbn: the isbn is secret"]);
    }),
);

testOnEngines(
  "a batch that the database refuses names the item, and the place of an embedded row",
  (engine) =>
    withBooks(engine, async (send) => {
      const batch = (method: string, path: string, ...items: readonly unknown[]) =>
        send(method, path, { items });
      assertEquals(await batch("POST", "books/batch", { isbn: "1" }, { isbn: "2" }), [201]);
      assertEquals(await batch("POST", "books/batch", { isbn: "3" }, { isbn: "3" }), [
        409,
        { path: "items.1.isbn", message: taken },
        { index: 1 },
      ]);
      assertEquals(
        await batch("POST", "books/batch", { isbn: "4" }, { pages: 0 }, { isbn: "1" }),
        [
          422,
          { path: "items.1.pages", message: "does not pass a check of the database" },
          { index: 1 },
        ],
      );
      const changed = [{ id: 1, isbn: "8" }, { id: 2, isbn: "8" }];
      assertEquals(await batch("PUT", "books/batch", ...changed), [
        409,
        { path: "items.1.isbn", message: taken },
        { index: 1 },
      ]);
      const upserted = [{ id: 70, isbn: "7" }, { id: 71, isbn: "1" }, { id: 2, isbn: "9" }];
      assertEquals(await batch("POST", "books/batch/upsert", ...upserted), [
        409,
        { path: "items.1.isbn", message: taken },
        { index: 1 },
      ]);
      assertEquals(
        await send("PATCH", "books/batch", { filter: "id=in=(1,2)", patch: { isbn: "6" } }),
        [409, { path: "patch.isbn", message: taken }],
      );
      const nested = { code: "n", books_by_shelf: [{ isbn: "5" }, { isbn: "1" }] };
      assertEquals(await send("POST", "shelves", nested), [
        409,
        { path: "books_by_shelf.1.isbn", message: taken },
        { path: "books_by_shelf.1" },
      ]);
      const lost = { code: "n", books_by_shelf: [{ isbn: "5" }, { low: 2, high: 1 }] };
      assertEquals((await send("POST", "shelves", lost)).at(-1), { path: "books_by_shelf.1" });
    }),
);
