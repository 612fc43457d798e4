import { assertEquals, assertMatch } from "@std/assert";
import { alteredDatabases, serveAltered } from "../support/altered_database.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";

/** The event trigger of docs/existing-databases.md. */
const eventTrigger = [
  ...(await Deno.readTextFile(new URL("../../docs/existing-databases.md", import.meta.url)))
    .matchAll(/```sql\n(CREATE FUNCTION notify_service_schema[^`]*)```/g),
].flatMap(([, statements = ""]) => statements.split(/;\n(?=CREATE)/));

/** How another program announces a change: by what it runs before and after the change. */
const announcements: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ["NOTIFY", [], [`NOTIFY service_schema`]],
  ["NOTIFY to PostgREST", [], [`NOTIFY pgrst, 'reload schema'`]],
  ["DDL with the event trigger", eventTrigger, []],
];

for (const { name, open, missing } of alteredDatabases) {
  for (const [means, before, after] of name === "postgres" ? announcements : []) {
    testUnless(
      missing,
      `${name}: the tables are read again after ${means}, without a request`,
      async () => {
        await using db = await open();
        await db.run(
          `CREATE TYPE mood AS ENUM ('sad', 'ok')`,
          `CREATE TABLE notes (id integer PRIMARY KEY, feel mood)`,
          `INSERT INTO notes VALUES (1, 'sad')`,
          ...before,
        );
        await using served = await serveAltered(db.place, ...means === "NOTIFY" ? ["--write"] : []);
        const { ask, send } = served;
        assertEquals(await ask("GET", "notes/1"), [200, { id: 1, feel: "sad" }]);
        const reopened = served.reopened();
        await db.run(`ALTER TYPE mood ADD VALUE 'glad'`, ...after);
        await reopened;
        const schema = await (await send("__service/schema")).text();
        assertEquals(schema.includes(`"glad"`), true);
        assertEquals((await ask("GET", "notes?filter=feel==glad"))[0], 200);
        const patched = await ask("PATCH", "notes/1", { feel: "glad" });
        assertEquals(patched[0], means === "NOTIFY" ? 200 : 405);
      },
    );
  }

  testUnless(
    missing,
    `${name}: a view whose key is gone kept every other table as it was`,
    async () => {
      await using db = await open();
      await db.run(
        `CREATE TABLE notes (id integer PRIMARY KEY, n integer)`,
        `CREATE VIEW grouped AS SELECT n AS g, count(*) AS total FROM notes GROUP BY n`,
        `INSERT INTO notes VALUES (1, 7)`,
      );
      await using served = await serveAltered(db.place, "--key", "grouped=g");
      const { ask } = served;
      assertEquals((await ask("GET", "grouped/7"))[0], 200);
      await db.run(`DROP VIEW grouped`, `ALTER TABLE notes RENAME COLUMN n TO m`);
      assertEquals(await ask("GET", "notes/1"), [200, { id: 1, m: 7 }]);
      assertEquals((await ask("GET", "grouped/7"))[0], 404);
    },
  );

  testUnless(
    missing,
    `${name}: tables that another program alters are served as they are`,
    async () => {
      await using db = await open();
      await db.run(
        `CREATE TABLE notes (id integer PRIMARY KEY, title text, body text, n integer)`,
        `CREATE TABLE tags (id integer PRIMARY KEY, n bigint DEFAULT 9007199254740993)`,
        `INSERT INTO notes VALUES (1, 'a', 'b', 1), (2, 'c', 'd', 2)`,
      );
      await using served = await serveAltered(db.place);
      const { ask } = served;
      const page = (await ask("GET", "notes?limit=1&select=id"))[1].nextCursor;
      await db.run(`ALTER TABLE notes RENAME COLUMN title TO heading`);
      assertEquals(await ask("GET", "notes/1"), [200, { id: 1, heading: "a", body: "b", n: 1 }]);
      await db.run(`ALTER TABLE notes DROP COLUMN body`);
      assertEquals(await ask("GET", "notes/1"), [200, { id: 1, heading: "a", n: 1 }]);
      const [status, { items }] = await ask("GET", `notes?select=id&cursor=${page}`);
      assertEquals(
        [status, items],
        [200, [{ id: 2 }]],
        "a cursor is good for a table that has changed",
      );
      await db.run(`DROP TABLE tags`);
      assertEquals((await ask("GET", "tags"))[0], 404);
      await db.run(`CREATE TABLE fresh (id integer PRIMARY KEY)`);
      const reopened = served.reopened();
      Deno.kill(Deno.pid, "SIGHUP");
      await reopened;
      assertEquals(await ask("GET", "fresh"), [200, {
        items: [],
        nextCursor: null,
        hasMore: false,
      }]);
      const foundByItself = served.reopened();
      await db.run(`CREATE TABLE later (id integer PRIMARY KEY)`);
      // A migration may have more to come.
      await foundByItself;
      assertEquals((await ask("GET", "later"))[0], 200);
      await db.run(`DROP TABLE later`, `DROP TABLE fresh`, `DROP TABLE notes`);
      // Nothing is left that could be served, and what was is not there.
      assertEquals((await ask("GET", "notes"))[1].code, "SCHEMA_CHANGED");
      await db.run(`CREATE TABLE notes (id integer PRIMARY KEY, title text)`);
      const [again] = await ask("GET", "notes");
      assertEquals(again, 200);
    },
  );

  testUnless(
    missing,
    `${name}: streams of a table that another program alters or makes again show no row that is wrong and miss none`,
    async () => {
      await using db = await open();
      await db.run(
        `CREATE TABLE notes (id integer PRIMARY KEY, title text, n integer)`,
        `CREATE TABLE tags (id integer PRIMARY KEY, label text)`,
        `INSERT INTO notes VALUES (1, 'a', 1), (2, 'c', 2)`,
      );
      await using served = await serveAltered(db.place, "--write", "--triggers", "--watch-schema");
      const before = await served.follow("notes/subscribe");
      await before.untilSynced();
      const others = await served.follow("tags/subscribe");
      await others.untilSynced();
      const known = await others.untilToken();
      const renamed = served.reopened();
      await db.run(`ALTER TABLE notes RENAME COLUMN title TO heading`, `UPDATE notes SET n = 3`);
      for (const { type, data } of await before.untilEnd()) {
        // The names are in the triggers of SQLite, those of before.
        if (type === "changed") assertMatch(data.item.title, /^[ac]$/);
      }
      await renamed;
      const after = await served.follow("notes/subscribe");
      await after.untilSynced();
      const token = await after.untilToken();
      const reopened = served.reopened();
      await db.run(
        `CREATE TABLE copy (id integer PRIMARY KEY, heading text, n integer)`,
        `INSERT INTO copy SELECT id, heading, n FROM notes`,
        `DROP TABLE notes`,
        `ALTER TABLE copy RENAME TO notes`,
        `UPDATE notes SET n = 7 WHERE id = 2`,
      );
      await reopened;
      const again = await served.follow("notes/subscribe", token);
      assertEquals((await again.next())?.type, "invalidate");
      const [page] = await again.untilSynced();
      assertEquals(page?.data.items.map(({ n }: { n: number }) => n), [3, 7]);
      await db.run(`UPDATE notes SET n = 8 WHERE id = 1`);
      assertEquals((await again.next())?.data.item.n, 8);
      await again.close();
      await db.run(`INSERT INTO tags VALUES (1, 'x')`);
      const tags = await served.follow("tags/subscribe", known);
      assertEquals((await tags.next())?.data.item.label, "x");
      await tags.close();
    },
  );
}

Deno.test("a page that a build had emptied was reported as unread tables at a SIGHUP", async () => {
  const [found] = alteredDatabases;
  await using db = await (found?.open() ?? Promise.reject(new Error("there is no database")));
  await db.run(`CREATE TABLE notes (id integer PRIMARY KEY)`);
  await using page = await scratchFolder();
  await Deno.writeTextFile(`${page.path}/index.html`, "built");
  await using served = await serveAltered(db.place, "--web", page.path);
  await Deno.remove(`${page.path}/index.html`);
  const before = served.observed.length;
  Deno.kill(Deno.pid, "SIGHUP");
  while (served.observed.length === before) await Deno.stat(page.path);
  assertEquals(served.observed.slice(before), ["notice"]);
  assertEquals(await (await served.send("", { headers: { accept: "text/html" } })).text(), "built");
});
