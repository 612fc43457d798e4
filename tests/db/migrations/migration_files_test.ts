import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import {
  filesToUndo,
  migrateFiles,
  undoFiles,
  undoneBy,
} from "../../../src/db/migrations/files/migrate_files.ts";
import { trackMutations } from "../../../src/app/track_mutations.ts";
import { integer, text } from "../../../src/schema/column_builder.ts";
import { table } from "../../../src/schema/table.ts";
import { testOnDialects } from "../../support/http.ts";
import { testOnPostgres } from "../../support/postgres_tests.ts";
import { openDatabase } from "../../../src/engines/open_database.ts";
import type { Database } from "../../../src/db/database.ts";

const random = { bytes: (length: number) => new Uint8Array(length) };

async function inFolder(
  work: (folder: string, write: (files: Record<string, string>) => Promise<void>) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await work(folder, async (files) => {
      for (const [name, sql] of Object.entries(files)) {
        await Deno.writeTextFile(`${folder}/${name}`, sql);
      }
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function read(db: Database, text: string): Promise<readonly unknown[]> {
  return (await db.query({ text, values: [] })).rows.map(([cell]) => cell);
}

testOnDialects("files of SQL are run once, in order, each in a transaction", async (engine) => {
  const db = await engine.open();
  const run = (folder: string) => migrateFiles({ driver: db.driver, folder, random });
  try {
    await inFolder(async (folder, write) => {
      await write({
        "0002_rows.sql": "INSERT INTO a VALUES ('x;'); INSERT INTO a VALUES ('y');",
        "0001_a.sql": "-- the first\nCREATE TABLE a (b TEXT UNIQUE);\r\n",
        "README.md": "not SQL",
      });
      // Two that start together.
      const done = await Promise.all([run(folder), run(folder)]);
      assertEquals(done.flat().sort(), ["0001_a.sql", "0002_rows.sql"]);
      assertEquals(await run(folder), []);
      assertEquals(await read(db, "SELECT b FROM a ORDER BY b"), ["x;", "y"]);

      await write({ "0003_bad.sql": "INSERT INTO a VALUES ('z'); INSERT INTO a VALUES ('y');" });
      await assertRejects(
        () => run(folder),
        Error,
        "0003_bad.sql fails at INSERT INTO a VALUES ('y')",
      );
      assertEquals(await read(db, "SELECT b FROM a ORDER BY b"), ["x;", "y"]);
      assertEquals(await read(db, "SELECT name FROM _service_migrations ORDER BY number"), [
        "0001_a.sql",
        "0002_rows.sql",
      ]);

      await write({ "0003_bad.sql": "BEGIN; SELECT 1; COMMIT;" });
      await assertRejects(() => run(folder), Error, "0003_bad.sql has BEGIN");
      if (db.dialect.engine === "postgres") {
        await write({ "0003_bad.sql": "SELECT 1; COPY a (b) FROM STDIN;" });
        await assertRejects(() => run(folder), Error, "0003_bad.sql has a COPY");
      }
      await Deno.writeFile(`${folder}/0003_bad.sql`, new Uint8Array([0x2d, 0x2d, 0xff]));
      await assertRejects(() => run(folder), Error, "0003_bad.sql is no UTF-8");
      await write({ "0003_bad.sql": "SELECT 'open" });
      await assertRejects(() => run(folder), Error, "in 0003_bad.sql, what begins in line 1");
      await Deno.remove(`${folder}/0003_bad.sql`);
      // The same statements with other line ends.
      await write({ "0001_a.sql": "-- the first\nCREATE TABLE a (b TEXT UNIQUE);\n" });
      assertEquals(await run(folder), []);
      await write({ "0001_b.sql": "SELECT 1" });
      await assertRejects(() => run(folder), Error, "have the same number");
      await Deno.rename(`${folder}/0001_b.sql`, `${folder}/0000_b.sql`);
      await assertRejects(() => run(folder), Error, "0000_b.sql comes before 0001_a.sql");
      await Deno.rename(`${folder}/0000_b.sql`, `${folder}/b.sql`);
      await assertRejects(() => run(folder), Error, "b.sql has no name like 0001_notes.sql");
      await Deno.remove(`${folder}/b.sql`);
      await write({ "0001_a.sql": "CREATE TABLE a (b TEXT);" });
      await assertRejects(() => run(folder), Error, "0001_a.sql was applied and has changed since");
    });
  } finally {
    await db.close();
  }
});

testOnDialects("a file without a transaction continues where it stopped", async (engine) => {
  const db = await engine.open();
  const isPostgres = db.dialect.engine === "postgres";
  const concurrently = isPostgres ? "CONCURRENTLY " : "";
  const run = (folder: string, resume = false) =>
    migrateFiles({ driver: db.driver, folder, random, resume });
  try {
    await inFolder(async (folder, write) => {
      await write({
        "1_a.sql": "CREATE TABLE a (b TEXT); INSERT INTO a VALUES ('x'), ('x');",
        "2_index.sql": `-- for large tables\n-- no transaction
          CREATE INDEX ${concurrently}a_b ON a (b);
          CREATE UNIQUE INDEX ${concurrently}a_unique ON a (b);
          VACUUM;`,
      });
      await assertRejects(() => run(folder), Error, "2_index.sql fails at CREATE UNIQUE INDEX");
      const error = await assertRejects(() => run(folder), Error);
      const invalid = isPostgres ? "; the index a_unique is INVALID: drop it" : "";
      assertEquals(
        error.message,
        "Cannot migrate: 2_index.sql has no transaction, and stopped after 1 of 3 statements, or " +
          `another process runs it now. Statement 2 may have run${invalid}. --resume runs this ` +
          "statement and the rest",
      );
      await db.query({ text: "DELETE FROM a", values: [] });
      if (isPostgres) await db.query({ text: "DROP INDEX a_unique", values: [] });
      assertEquals(await run(folder, true), ["2_index.sql"]);
      assertEquals(await run(folder), []);
      await assertRejects(() =>
        db.query({ text: "INSERT INTO a VALUES ('y'), ('y')", values: [] })
      );
      await write({ "3_vacuum.sql": "VACUUM" });
      await assertRejects(() => run(folder), Error, "begins with the line -- no transaction");
      await write({ "3_vacuum.sql": "-- no transaction\nBEGIN" });
      await assertRejects(() => run(folder), Error, "has BEGIN, and commits each statement alone");
      if (!isPostgres) return;
      // The second of two that start together waits, and the first finishes nevertheless.
      await write({
        "3_vacuum.sql":
          "-- no transaction\nSELECT pg_sleep(0.5); CREATE INDEX CONCURRENTLY c ON a (b)",
      });
      const done = await Promise.all([run(folder), run(folder)]);
      assertEquals(done.flat(), ["3_vacuum.sql"]);
      assertEquals(await read(db, "SELECT current_setting('lock_timeout')"), ["5s"]);
      // The connection is lost in the middle of a statement, as when the process is killed.
      await write({ "4_lost.sql": "-- no transaction\nSELECT 1; SELECT pg_sleep(60);" });
      const lost = assertRejects(() => run(folder), Error);
      const sleeping = "FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(60)%'";
      while ((await read(db, `SELECT pg_terminate_backend(pid) ${sleeping}`)).length === 0);
      await lost;
      await assertRejects(() => run(folder), Error, "stopped after 1 of 2 statements");
      await write({ "4_lost.sql": "-- no transaction\nSELECT 1; SELECT 2;" });
      assertEquals(await run(folder, true), ["4_lost.sql"]);
    });
  } finally {
    await db.close();
  }
});

testOnDialects(
  "files are undone by their down files, and no value is lost by accident",
  async (engine) => {
    const db = await engine.open();
    const { driver } = db;
    try {
      await inFolder(async (folder, write) => {
        await write({
          "1_a.sql": "CREATE TABLE a (b TEXT);",
          "1_a.down.sql": "DROP TABLE a;",
          "2_c.sql": "ALTER TABLE a ADD COLUMN c TEXT; CREATE INDEX a_b ON a (b);",
          "2_c.down.sql":
            "-- first the index\nDROP INDEX a_b; ALTER TABLE a /* all */ DROP COLUMN c;",
          "3_no.sql": "CREATE TABLE no (b TEXT);",
        });
        const run = { driver, folder, random };
        const undo = async (count: number, ...allowDrop: readonly string[]) => {
          const undone = await filesToUndo(run, count);
          await undoFiles(run, undone, allowDrop);
          return undone.map(undoneBy);
        };
        await migrateFiles(run);
        await assertRejects(() => undo(1), Error, "Cannot undo 3_no.sql: ");
        await write({ "3_no.down.sql": "DROP INDEX CONCURRENTLY a_b" });
        await assertRejects(() => undo(1), Error, "a down file runs in a transaction");
        await write({ "3_no.down.sql": "-- no transaction\nDROP TABLE no" });
        await assertRejects(() => undo(1), Error, "3_no.down.sql must run in a transaction");
        await write({ "3_no.down.sql": "DROP TABLE IF EXISTS absent; DROP TABLE no;" });
        assertEquals(await undo(1), ["3_no.sql"]);
        await db.query({ text: "INSERT INTO a VALUES ('x', 'y')", values: [] });
        const refused = "Cannot undo 2_c.sql: 2_c.down.sql drops values: add --allow-drop a.c";
        await assertRejects(() => undo(1), Error, refused);
        // Both or neither: the transaction is one.
        await assertRejects(
          () => undo(2, "a.c"),
          Error,
          "1_a.down.sql drops values: add --allow-drop a",
        );
        assertEquals(await read(db, "SELECT c FROM a"), ["y"]);
        assertEquals(await undo(1, "A.C"), ["2_c.sql"]);
        assertEquals(await migrateFiles(run), ["2_c.sql", "3_no.sql"]);
        assertEquals(await read(db, "SELECT c FROM a"), [null]);
        assertEquals(await undo(3, "a"), ["3_no.sql", "2_c.sql", "1_a.sql"]);
        assertEquals(await undo(1), []);
      });
    } finally {
      await db.close();
    }
  },
);

Deno.test("only one of two processes runs a file of SQLite without a transaction", async () => {
  await inFolder(async (folder, write) => {
    const open = () => openDatabase(`sqlite:${folder}/notes.db`);
    const opened = [await open(), await open()];
    await write({
      "1_a.sql": "CREATE TABLE a (b TEXT);",
      "2_b.sql": "-- no transaction\nINSERT INTO a VALUES ('x'); VACUUM;",
    });
    const results = await Promise.allSettled(
      opened.map(({ driver }) => migrateFiles({ driver, folder, random })),
    );
    const reasons = results.flatMap((one) => one.status === "rejected" ? [String(one.reason)] : []);
    for (const one of reasons) assertMatch(one, /2_b\.sql has no transaction, and stopped after/);
    const [db] = opened;
    assertEquals(await read(db!, "SELECT b FROM a"), ["x"]);
    const name = "SELECT name FROM _service_migrations ORDER BY number";
    assertEquals(await read(db!, name), ["1_a.sql", "2_b.sql"]);
    await Promise.all(opened.map((one) => one.close()));
  });
});

testOnPostgres("a file without a transaction is not run through a pooler", async (url) => {
  const { driver, close } = await openDatabase(`${url}?prepare=false`);
  try {
    await inFolder(async (folder, write) => {
      await write({ "1_vacuum.sql": "-- no transaction\nVACUUM" });
      const run = () => migrateFiles({ driver, folder, random });
      await assertRejects(run, Error, "needs a direct connection to the server");
    });
  } finally {
    await close();
  }
});

testOnDialects("files change recorded tables, which stay recorded", async (engine) => {
  const db = await engine.open();
  const notes = table("notes", { id: integer().primaryKey(), title: text(), secret: text() });
  try {
    await db.createTables([notes]);
    await trackMutations(db, [notes], { exclude: [notes.secret] });
    await inFolder(async (folder, write) => {
      await write({
        "1_drop.sql":
          "ALTER TABLE notes DROP COLUMN title; ALTER TABLE notes ADD COLUMN size BIGINT;",
      });
      await migrateFiles({ driver: db.driver, folder, random });
    });
    await db.query({ text: "INSERT INTO notes (size, secret) VALUES (3, 'x')", values: [] });
    const after = await read(db, "SELECT after FROM _service_changes ORDER BY seq");
    assertEquals(after.map((one) => one === null ? null : JSON.parse(String(one))), [
      null,
      { id: 1, size: 3 },
    ]);
  } finally {
    await db.close();
  }
});

Deno.test("a file that begins by switching foreign keys off may make a table again", async () => {
  const db = await openDatabase("sqlite::memory:");
  const run = (folder: string) => migrateFiles({ driver: db.driver, folder, random });
  try {
    await inFolder(async (folder, write) => {
      await write({
        "1_a.sql": `CREATE TABLE a (id INTEGER PRIMARY KEY);
          CREATE TABLE b (a REFERENCES a ON DELETE CASCADE);
          INSERT INTO a VALUES (1); INSERT INTO b VALUES (1);`,
        "2_again.sql": `-- as SQLite advises
          PRAGMA foreign_keys = OFF;
          CREATE TABLE n (id INTEGER PRIMARY KEY, c); INSERT INTO n (id) SELECT id FROM a;
          DROP TABLE a; ALTER TABLE n RENAME TO a;`,
      });
      assertEquals(await run(folder), ["1_a.sql", "2_again.sql"]);
      assertEquals(await read(db, "SELECT a FROM b"), [1]);
      await write({ "3_break.sql": "PRAGMA foreign_keys=off; DELETE FROM a;" });
      await assertRejects(() => run(folder), Error, "rows would refer to rows that are not there");
      await write({ "3_break.sql": "DELETE FROM a;" });
      await run(folder);
      assertEquals(await read(db, "SELECT a FROM b"), [], "foreign keys are on again");
    });
  } finally {
    await db.close();
  }
});

Deno.test("foreign keys are off in every spelling, and a PRAGMA that comes too late is refused", async () => {
  const begin = `CREATE TABLE a (id INTEGER PRIMARY KEY);
    CREATE TABLE b (a REFERENCES a ON DELETE CASCADE);
    INSERT INTO a VALUES (1); INSERT INTO b VALUES (1);`;
  const again = `CREATE TABLE n (id INTEGER PRIMARY KEY, c); INSERT INTO n (id) SELECT id FROM a;
    DROP TABLE a; ALTER TABLE n RENAME TO a;`;
  const lines = [
    ...["PRAGMA foreign_keys = OFF", "/* x */ pragma Foreign_Keys=0", "PRAGMA foreign_keys(off)"],
    ...["PRAGMA main.foreign_keys = OFF", 'PRAGMA foreign_keys = "no"'],
    "PRAGMA defer_foreign_keys = ON; PRAGMA foreign_keys = OFF",
  ];
  for (
    const [line, start] of lines.flatMap((line) => [[line, ""], [line, "-- no transaction\n"]])
  ) {
    const db = await openDatabase("sqlite::memory:");
    await inFolder(async (folder, write) => {
      await write({
        "1_a.sql": begin,
        "2_again.sql": `${start}${line}; ${again} PRAGMA foreign_keys = ON;`,
      });
      await migrateFiles({ driver: db.driver, folder, random });
      assertEquals(await read(db, "SELECT a FROM b"), [1], `${start}${line}`);
      await write({ "3_late.sql": `CREATE TABLE z (id); ${line}; ${again}` });
      const late = migrateFiles({ driver: db.driver, folder, random });
      await assertRejects(() => late, Error, "3_late.sql turns foreign keys off after other");
    });
    await db.close();
  }
});

testOnPostgres("a resumed file has the settings of its first statements", async (url) => {
  const db = await openDatabase(url);
  await inFolder(async (folder, write) => {
    await write({
      "1_apart.sql": `-- no transaction
        CREATE SCHEMA other; SET search_path = other; CREATE TABLE a (id INT);
        INSERT INTO a VALUES (1), (1); CREATE UNIQUE INDEX CONCURRENTLY once ON a (id);
        CREATE TABLE b (id INT);`,
    });
    const run = (resume: boolean) => migrateFiles({ driver: db.driver, folder, random, resume });
    await assertRejects(() => run(false), Error, "fails at");
    await db.driver.query({ text: "DELETE FROM other.a", values: [] });
    await db.driver.query({ text: "DROP INDEX other.once", values: [] });
    await run(true);
    assertEquals(await read(db, "SELECT to_regclass('other.b')::text"), ["other.b"]);
  });
  await db.close();
});

testOnPostgres("settings of a file reach neither the record nor the next file", async (url) => {
  const db = await openDatabase(url);
  const { driver } = db;
  try {
    await inFolder(async (folder, write) => {
      const run = () => migrateFiles({ driver, folder, random });
      await write({
        // The first lines and the last one are those that pg_dump writes.
        "1_dump.sql": `\\restrict a1B2
          SELECT pg_catalog.set_config('search_path', '', false);
          SET row_security = off; SET TimeZone = 'Asia/Tokyo';
          CREATE TABLE public.x (id INT PRIMARY KEY);\n\\unrestrict a1B2\n`,
        "2_path.sql": "CREATE SCHEMA s; SET search_path TO s; CREATE TABLE inside (id INT);",
        "3_role.sql": "CREATE TABLE y (id INT); CREATE TEMP TABLE x (id TEXT); SET ROLE pg_monitor",
        "4_apart.sql": `-- no transaction
          SET search_path TO s; SET ROLE pg_monitor; SELECT 1; RESET ROLE;
          CREATE TABLE late (id INT); SET SESSION AUTHORIZATION pg_monitor; SELECT 2;`,
        "5_last.sql": "INSERT INTO x VALUES (1); CREATE TABLE z (id INT);",
        "5_last.down.sql": "SET search_path TO s; SET ROLE pg_monitor;",
        "4_apart.down.sql": "DROP TABLE s.late",
      });
      assertEquals((await run()).length, 5);
      assertEquals(await run(), []);
      const tables = `SELECT schemaname || '.' || tablename FROM pg_tables
        WHERE schemaname IN ('public', 's') ORDER BY 1`;
      assertEquals(
        await read(db, tables),
        ["public._service_migrations", "public.x", "public.y", "public.z", "s.inside", "s.late"],
      );
      const undone = await filesToUndo({ driver, folder }, 2);
      await undoFiles({ driver, folder, random }, undone, ["s.late"]);
      assertEquals(await read(db, "SELECT max(number) FROM _service_migrations"), ["3"]);
      assertEquals(await read(db, "SHOW search_path"), ['"$user", public']);
    });
  } finally {
    await db.close();
  }
});

testOnDialects("a file's settings of SQLite end with the file", async (engine) => {
  const db = await engine.open();
  const run = (folder: string) => migrateFiles({ driver: db.driver, folder, random });
  try {
    await inFolder(async (folder, write) => {
      await Deno.writeFile(`${folder}/1_a.sql`, new TextEncoder().encode("SELECT 1;\0"));
      await assertRejects(() => run(folder), Error, "1_a.sql contains a NUL character");
      if (db.dialect.engine === "postgres") return;
      await write({
        "1_a.sql": `CREATE TABLE a (b INTEGER PRIMARY KEY, CHECK (b > 0));
          CREATE TABLE c (b REFERENCES a); PRAGMA ignore_check_constraints = ON;
          INSERT INTO a VALUES (0);`,
        "2_apart.sql": "-- no transaction\nPRAGMA foreign_keys(OFF); INSERT INTO c VALUES (7);",
      });
      assertEquals(await run(folder), ["1_a.sql", "2_apart.sql"]);
      await write({ "3_check.sql": "INSERT INTO a VALUES (-1)" });
      await assertRejects(() => run(folder), Error, "CHECK constraint failed");
      await write({ "3_check.sql": "INSERT INTO c VALUES (8)" });
      await assertRejects(() => run(folder), Error, "FOREIGN KEY constraint failed");
    });
  } finally {
    await db.close();
  }
});
