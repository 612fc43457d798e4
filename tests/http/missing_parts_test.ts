import { assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { all, createApp, openDatabase, resource } from "../../mod.ts";

for (const scheme of ["sqlite", "node-sqlite"]) {
  Deno.test(`a function that only another program has made each write a 500 (${scheme})`, async () => {
    const path = await Deno.makeTempFile({ suffix: ".db" });
    const other = new DatabaseSync(path);
    other.function("title_sort", (title) => title);
    other.exec(
      `CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT, sort TEXT);
       CREATE TABLE plain (id INTEGER PRIMARY KEY, title TEXT);
       CREATE TRIGGER sorted AFTER INSERT ON books BEGIN
         UPDATE books SET sort = title_sort(new.title) WHERE id = new.id; END;
       INSERT INTO plain VALUES (1, 'a');
       INSERT INTO books VALUES (1, 'a', 'a');
       CREATE TABLE tags (tag TEXT PRIMARY KEY COLLATE RTRIM) WITHOUT ROWID;
       INSERT INTO tags VALUES ('a');
       CREATE TABLE decks (id INTEGER PRIMARY KEY, name TEXT COLLATE RTRIM, n INTEGER);
       INSERT INTO decks VALUES (1, 'a', 5);
       CREATE TABLE cards (id INTEGER PRIMARY KEY, deckId INTEGER REFERENCES decks);
       INSERT INTO cards VALUES (1, 1)`,
    );
    other.close();
    // A collation cannot be made here: the file names one of the same length that nothing has.
    const bytes = await Deno.readFile(path);
    const text = new TextDecoder("latin1").decode(bytes);
    for (const { index } of text.matchAll(/RTRIM/g)) {
      bytes.set(new TextEncoder().encode("UCASE"), index);
    }
    await Deno.writeFile(path, bytes);
    const db = await openDatabase(`${scheme}:${path}`);
    const { tables, leftOut, refusedWrites } = await db.introspect();
    assertEquals(tables.map(({ name }) => name), ["books", "cards", "decks", "plain"]);
    const reason = "it cannot be read: no such collation sequence: UCASE";
    assertEquals(leftOut, [{ table: "tags", reason }]);
    assertEquals(refusedWrites, [
      { table: "books", reason: "no such function: title_sort" },
    ]);
    const rights = { public: { read: true }, create: () => all(), update: () => all() };
    const app = await createApp({
      db,
      secret: "a secret for the tests only",
      auth: {
        middleware: async (context, next) => {
          context.set("user", { id: "ada" });
          await next();
        },
      },
      resources: tables.map((table) => resource(table, { id: "id", auth: rights })),
    });
    const send = async (method: string, place: string, body: unknown) => {
      const headers = { "content-type": "application/json" };
      const request = { method, headers, body: JSON.stringify(body) };
      const answer = await app.fetch(new Request(`http://test/api/${place}`, request));
      return [answer.status, (await answer.json()).detail];
    };
    const detail = "Cannot create: a part of the table, such as a trigger, names a table, " +
      "a function or a collation that is missing";
    assertEquals(await send("POST", "books", { title: "b" }), [409, detail]);
    assertEquals((await send("PATCH", "books/1", { title: "b" }))[0], 200);
    assertEquals((await send("POST", "plain", { title: "b" }))[0], 201);
    const list = async (query: string) => {
      const answer = await app.fetch(new Request(`http://test/api/decks?${query}`));
      await answer.body?.cancel();
      return answer.status;
    };
    assertEquals(await list("filter=name==a"), 200);
    assertEquals(await list("orderBy=id"), 200);
    assertEquals(await list("orderBy=-n,id"), 200);
    assertEquals(await list("orderBy=name"), 400);
    // A subquery that shows the column needs its collation, too.
    for (const include of ["deck", "deck(orderBy:-n)", "deck(limit:1)", "deck(select:name)"]) {
      const answer = await app.fetch(new Request(`http://test/api/cards?include=${include}`));
      const { items } = await answer.json();
      assertEquals([answer.status, items[0].deck.name], [200, "a"], include);
    }
    await app.close();
    await db.close();
    await Deno.remove(path);
  });
}

const unknown = "unknown function: folded()";

/** The rest of a table with a function that only another program has, or its index. */
const placed: readonly (readonly [rest: string, index?: string])[] = [
  ["", "CREATE INDEX by_title ON notes (folded(title))"],
  ["", "CREATE UNIQUE INDEX by_title ON notes (folded(title))"],
  ["", "CREATE INDEX by_n ON notes (n) WHERE folded(title) = 'a'"],
  [", low TEXT GENERATED ALWAYS AS (folded(title)) STORED"],
  [", low TEXT GENERATED ALWAYS AS (folded(title)) VIRTUAL"],
  [
    ", low TEXT GENERATED ALWAYS AS (folded(title)) VIRTUAL",
    "CREATE INDEX low ON notes (low, n) WHERE folded('a') = 'a'",
  ],
  [", CHECK (folded(title) <> '')"],
  [", low TEXT DEFAULT (folded('A'))"],
];

for (const scheme of ["sqlite", "node-sqlite"]) {
  Deno.test(`a function of an index, a check or a generated column made each write a 500 (${scheme})`, async () => {
    for (const [rest, index = ""] of placed) {
      const path = await Deno.makeTempFile({ suffix: ".db" });
      const other = new DatabaseSync(path);
      other.function("folded", { deterministic: true }, (title) => String(title).toLowerCase());
      other.exec(
        `CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, n INTEGER${rest});
         ${index};
         INSERT INTO notes (id, title, n) VALUES (1, 'A', 1)`,
      );
      other.close();
      const db = await openDatabase(`${scheme}:${path}`);
      const { tables, leftOut, refusedWrites } = await db.introspect();
      const isVirtual = rest.includes("VIRTUAL");
      const reason = `it cannot be read: ${unknown}`;
      assertEquals(leftOut, isVirtual ? [{ table: "notes.low", reason }] : []);
      assertEquals(
        refusedWrites,
        [{ table: "notes", reason: unknown }],
        rest + index,
      );
      const rights = { create: () => all(), update: () => all(), delete: () => all() };
      const app = await createApp({
        db,
        secret: "a secret for the tests only",
        auth: {
          middleware: async (context, next) => {
            context.set("user", { id: "ada" });
            await next();
          },
        },
        resources: tables.map((table) =>
          resource(table, { id: "id", auth: { public: { read: true }, ...rights } })
        ),
      });
      const send = async (method: string, path: string, body?: unknown) => {
        const headers = { "content-type": "application/json" };
        const request = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
        const answer = await app.fetch(new Request(`http://test/api/notes${path}`, request));
        await answer.body?.cancel();
        return answer.status;
      };
      for (const query of ["", "/1", "?filter=title==A", "?orderBy=-n", "/aggregate?max=title"]) {
        assertEquals(await send("GET", query), 200, `${rest} ${index} ${query}`);
      }
      // What a statement does not compute is no obstacle.
      const isRefused = !rest.includes("DEFAULT");
      assertEquals(await send("POST", "", { title: "b" }), 409);
      assertEquals(await send("PATCH", "/1", { title: "b", n: 2 }), isRefused ? 409 : 200);
      await app.close();
      await db.close();
      await Deno.remove(path);
    }
  });
}
