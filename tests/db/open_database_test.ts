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
