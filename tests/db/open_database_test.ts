import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DatabaseError } from "../../src/db/database_error.ts";
import { openNodeSqlite } from "../../src/engines/sqlite/driver/node_sqlite_driver.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import type { Observation } from "../../src/runtime/runtime.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { diskFolder } from "../support/disk.ts";
import { everyEngine } from "../support/engines.ts";
import { run, scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";

const people = table("people", { id: text().primaryKey(), name: text().notNull() });
const pets = table("pets", {
  id: integer().primaryKey(),
  owner: text().references(() => people.id),
});

for (const engine of everyEngine) {
  testUnless(
    engine.ignore ?? null,
    `${engine.name} creates tables in an order that serves, and leaves those that are there`,
    async () => {
      const db = await engine.open();
      await db.createTables([pets, people]);
      await run(db, "INSERT INTO people VALUES (?, ?)", "a", "Ann");
      await run(db, "INSERT INTO pets (owner) VALUES (?)", "a");
      await Promise.all([db.createTables([people, pets]), db.createTables([pets, people])]);
      const { rows } = await run(db, "SELECT id, owner FROM pets");
      assertEquals(rows.map(([id, owner]) => [Number(id), owner]), [[1, "a"]]);
      await db.close();
    },
  );
}

Deno.test("a database is opened by the scheme of its URL", async () => {
  await using folder = await scratchFolder();
  const cases: readonly (readonly [string, string])[] = [
    [`sqlite:${folder.path}/a.db`, `${folder.path}/a.db (better-sqlite3)`],
    [`SQLite://${folder.path}/b.db`, `${folder.path}/b.db (better-sqlite3)`],
    [`node-sqlite:${folder.path}/c.db`, `${folder.path}/c.db (node:sqlite)`],
    ["sqlite::memory:", ":memory: (better-sqlite3)"],
  ];
  for (const [url, label] of cases) {
    const db = await openDatabase(url);
    assertEquals([db.label, db.dialect.engine], [label, "sqlite"]);
    await db.close();
  }
});

Deno.test("the error for a database that cannot be opened says what to do", async () => {
  const cases: readonly (readonly [string, string])[] = [
    ["mysql://root:secret@host/db", "use sqlite:PATH"],
    ["notes.db", 'by "notes.db": use sqlite:notes.db'],
    ["ada:secret@host/db", "use sqlite:PATH"],
    ["secret@host/db", "use sqlite:PATH"],
    ["", "use sqlite:PATH"],
    ["sqlite:", "without a path"],
    ["sqlite:.", "it is a folder"],
    ["node-sqlite:absent/folder/a.db", "create the folder"],
  ];
  for (const [url, advice] of cases) {
    const error = await assertRejects(() => openDatabase(url), Error, advice);
    assertEquals(error.message.includes("secret"), false);
  }
});

Deno.test("a file that is opened for reading only is never created", async () => {
  await using folder = await scratchFolder();
  for (const scheme of ["sqlite", "node-sqlite", "pglite"]) {
    const url = `${scheme}:${folder.path}/absent`;
    await assertRejects(() => openDatabase(url, { readOnly: true }), Error, "there is no such");
  }
  assertEquals(await Array.fromAsync(Deno.readDir(folder.path)), []);
});

Deno.test("a custom driver is used as it is", async () => {
  const driver = await openNodeSqlite(":memory:");
  const db = await openDatabase(driver);
  assert(db.driver === driver && db.dialect === driver.dialect);
  await db.close();
  await assertRejects(
    async () => await driver.query({ text: "SELECT 1", values: [] }),
    DatabaseError,
  );
});

Deno.test("node:sqlite takes over, and says so, where the addon cannot be loaded", async () => {
  const code = `
    import { openDatabase } from ${JSON.stringify(import.meta.resolve(openDatabaseFile))};
    const observed = [];
    const db = await openDatabase("sqlite::memory:", { observe: (it) => observed.push(it) });
    console.log(JSON.stringify([db.label, observed]));
    await db.close();`;
  // Without the right to load native code there is no addon.
  const args = ["run", "--allow-read", "--allow-write", "--allow-env", "--allow-sys", "--ext=ts"];
  const child = new Deno.Command(Deno.execPath(), {
    args: [...args, "--no-prompt", "--config", configFile, "-"],
    env: { TMPDIR: diskFolder },
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(code));
  await writer.close();
  const output = new TextDecoder().decode((await child.output()).stdout);
  const [label, observed]: [string, Observation[]] = JSON.parse(output);
  assertEquals(label, ":memory: (node:sqlite)");
  assertEquals(observed.map(({ kind }) => kind), ["notice"]);
});

const openDatabaseFile = "../../src/engines/open_database.ts";
const configFile = new URL("../../deno.json", import.meta.url).pathname;

for (const library of ["sqlite", "node-sqlite"]) {
  Deno.test(`strings in double quotes in triggers and views of old files work (${library})`, async () => {
    await using folder = await scratchFolder();
    const path = `${folder.path}/cache.db`;
    using old = new DatabaseSync(path, { enableDoubleQuotedStringLiterals: true });
    old.exec(`CREATE TABLE settings (key TEXT PRIMARY KEY, value);
      INSERT INTO settings VALUES ('size', 0);
      CREATE TABLE cache (id INTEGER PRIMARY KEY, size INTEGER, mode DEFAULT "new",
        CHECK (mode <> "none"));
      CREATE INDEX new_only ON cache (size) WHERE mode = "new";
      CREATE TRIGGER changed AFTER UPDATE ON cache BEGIN
        UPDATE settings SET value = NEW.size WHERE key = "size"; END;`);
    const written = await openDatabase(`${library}:${path}`);
    await run(written, "INSERT INTO cache (id, size) VALUES (1, 2)");
    await run(written, "UPDATE cache SET size = 3");
    const { rows } = await run(written, "SELECT value, mode FROM settings, cache");
    assertEquals(rows, [[3, "new"]]);
    // A misspelled column is an error as before, at least in reads.
    await assertRejects(() => run(written, 'SELECT "absent" FROM cache'), DatabaseError);
    await written.close();
    old.exec(`CREATE VIEW broken AS SELECT "a label" FROM absent;
      CREATE TRIGGER on_broken INSTEAD OF INSERT ON broken BEGIN SELECT "x"; END;
      CREATE VIEW labelled AS SELECT id, "a label" AS label FROM cache`);
    const read = await openDatabase(`${library}:${path}`, { readOnly: true });
    assertEquals((await run(read, "SELECT label FROM labelled")).rows, [["a label"]]);
    // A setting of reads belongs to the connection that reads.
    await run(read, "PRAGMA cache_size = 123");
    assertEquals((await run(read, "PRAGMA cache_size")).rows, [[123]]);
    assertEquals((await read.introspect()).leftOut.map(({ table }) => table), ["broken"]);
    await read.close();
  });
}
