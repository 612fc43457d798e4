import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { createRowReader } from "../../src/db/rows.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import type { TableInfo } from "../../src/schema/table_info.ts";
import { identifier, join, sql, type SqlValue, toStatement } from "../../src/sql/fragment.ts";
import {
  assertChanges,
  changesOf,
  kindsAndRows,
  openLog,
} from "../conformance/change_log_support.ts";
import { type Engine, engines } from "../support/engines.ts";
import { run, runScript } from "../support/scratch.ts";
import type { Database } from "../../src/db/database.ts";

const sqliteEngines = engines.filter(({ name }) => name.includes("sqlite"));

function testOnSqlite(name: string, work: (db: Database, engine: Engine) => Promise<void>): void {
  for (const engine of sqliteEngines) {
    Deno.test(`${name} (${engine.name})`, async () => {
      const db = await engine.open();
      try {
        await work(db, engine);
      } finally {
        await db.close();
      }
    });
  }
}

const notes = table("notes", { id: integer().primaryKey(), title: text() });

testOnSqlite(
  "a REPLACE records the row that it replaces, by any of its unique columns",
  async (db) => {
    await run(db, "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT UNIQUE)");
    const log = await openLog(db, [notes]);
    await run(db, "INSERT INTO notes VALUES (1, 'a'), (2, 'b')");
    await assertChanges(log, () => run(db, "REPLACE INTO notes VALUES (1, 'b')"), [
      ["delete", { id: 1, title: "a" }, null],
      ["delete", { id: 2, title: "b" }, null],
      ["insert", null, { id: 1, title: "b" }],
    ]);
    await log.close();
  },
);

testOnSqlite(
  "a trigger that changes the row again follows the change that it reacts to",
  async (db) => {
    await db.createTables([notes]);
    const stamp = (name: string) =>
      run(
        db,
        `CREATE TRIGGER ${name} AFTER UPDATE OF title ON notes
       BEGIN UPDATE notes SET id = NEW.id + 10 WHERE id = NEW.id; END`,
      );
    await stamp("made_before");
    await (await openLog(db, [notes])).close();
    await run(db, "DROP TRIGGER made_before");
    await stamp("made_after");
    const log = await openLog(db, [notes]);
    await run(db, "INSERT INTO notes VALUES (1, 'a')");
    await assertChanges(log, () => run(db, "UPDATE notes SET title = 'b'"), [
      ["update", { id: 1, title: "a" }, { id: 1, title: "b" }],
      ["update", { id: 1, title: "b" }, { id: 11, title: "b" }],
    ]);
    await log.close();
  },
);

testOnSqlite(
  "tables and columns with quotes, of all kinds and without row ids, are recorded",
  async (db) => {
    await run(
      db,
      `CREATE TABLE "o'cl""ock $x" (
       "a'b" TEXT, "c""d" INT, "$more" TEXT, "" TEXT, "\\" TEXT, "é" TEXT,
       twice INT GENERATED ALWAYS AS ("c""d" * 2) VIRTUAL,
       thrice INT AS ("c""d" * 3) STORED,
       PRIMARY KEY ("a'b", "c""d")
     ) WITHOUT ROWID`,
    );
    const { tables: [odd] } = await db.introspect();
    assert(odd !== undefined);
    const log = await openLog(db, [odd]);
    await run(
      db,
      `INSERT INTO "o'cl""ock $x" VALUES ('k', 2, '{"$bytes":"00"}', 'e', '\\', '"\\')`,
    );
    await assertChanges(log, () => run(db, `UPDATE "o'cl""ock $x" SET "c""d" = 3`), [
      [
        "update",
        await rowOf({
          "a'b": "k",
          'c"d': 2,
          "$more": '{"$bytes":"00"}',
          "": "e",
          twice: 4,
          thrice: 6,
        }),
        await rowOf({
          "a'b": "k",
          'c"d': 3,
          "$more": '{"$bytes":"00"}',
          "": "e",
          twice: 6,
          thrice: 9,
        }),
      ],
    ]);
    await log.close();

    function rowOf(row: Record<string, unknown>): Record<string, unknown> {
      return { ...row, "\\": "\\", "é": '"\\' };
    }
  },
);

testOnSqlite("a table of a thousand columns is recorded whole", async (db) => {
  const names = Array.from({ length: 1_000 }, (_, index) => `c${index}`);
  await run(db, `CREATE TABLE wide (id INTEGER PRIMARY KEY, ${names.join(", ")})`);
  const { tables: [wide] } = await db.introspect();
  assert(wide !== undefined);
  const log = await openLog(db, [wide]);
  const expected = Object.fromEntries(names.map((name, index) => [name, `v${index}`]));
  const values = names.map((_, index) => `'v${index}'`);
  await assertChanges(log, () => run(db, `INSERT INTO wide VALUES (1, ${values.join(", ")})`), [
    ["insert", null, { id: 1, ...expected }],
  ]);
  await log.close();
});

testOnSqlite("temporary triggers see what this process writes, and go with it", async (db) => {
  await db.createTables([notes]);
  const log = await openLog(db, [notes], { mode: "service" });
  const again = await openLog(db, [notes], { mode: "service" });
  await assertChanges(log, () =>
    runScript(
      db.driver,
      `INSERT INTO notes VALUES (1, 'a'), (2, 'b');
       UPDATE notes SET title = 'c' WHERE id = 1;
       DELETE FROM notes;`,
    ), [
    ["insert", null, { id: 1, title: "a" }],
    ["insert", null, { id: 2, title: "b" }],
    ["update", { id: 1, title: "a" }, { id: 1, title: "c" }],
    ["delete", { id: 1, title: "c" }, null],
    ["delete", { id: 2, title: "b" }, null],
  ]);
  const { rows } = await run(db, "SELECT name FROM sqlite_schema WHERE type = 'trigger'");
  assertEquals(rows, []);
  await log.close();
  await again.close();
});

/** Every storage class, at its edges. */
const stored: fc.Arbitrary<SqlValue> = fc.oneof(
  fc.constant(null),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.integer(),
  fc.double({ noNaN: true }),
  fc.constantFrom(Infinity, -Infinity, 1e21, 2 ** 60, 0.1, 5e-324, 1.7976931348623157e308),
  fc.uint8Array({ maxLength: 20 }),
  fc.string({ unit: "grapheme", maxLength: 20 }).filter((text) => !text.includes("\0")),
  fc.constantFrom('{"$bytes":"00"}', "[1]", "null", '"', "\\", "\u2028", "\u0001\u001f", "9e999"),
);

/** Every affinity, so that SQLite converts as it may. */
const declared = [
  "INTEGER",
  "TEXT",
  "REAL",
  "NUMERIC",
  "BLOB",
  "BOOLEAN",
  "DATETIME",
  "JSON",
  "DATE",
];

testOnSqlite(
  "no stored value makes a write fail, and each is decoded as in a list",
  async (db) => {
    const columns = declared.map((type, index) => `c${index} ${type}`).join(", ");
    await run(db, `CREATE TABLE odd (id INTEGER PRIMARY KEY, ${columns})`);
    const { tables: [odd] } = await db.introspect();
    assert(odd !== undefined);
    const log = await openLog(db, [odd]);
    const row = fc.array(stored, { minLength: declared.length, maxLength: declared.length });
    await fc.assert(
      fc.asyncProperty(row, row, async (first, second) => {
        await assertImages(db, odd, first, second);
      }),
      { numRuns: 300 },
    );
    await log.close();

    async function assertImages(
      db: Database,
      odd: TableInfo,
      first: readonly SqlValue[],
      second: readonly SqlValue[],
    ): Promise<void> {
      const places = declared.map(() => "?").join();
      const sets = declared.map((_, index) => `c${index} = ?`).join();
      const listed: unknown[] = [null];
      const changes = await changesOf(log, async () => {
        await run(db, `INSERT INTO odd VALUES (1, ${places})`, ...first);
        listed.push((await list(db, odd))[0]);
        await run(db, `UPDATE odd SET ${sets}`, ...second);
        listed.push((await list(db, odd))[0]);
        await run(db, "DELETE FROM odd");
      });
      const [, one, two] = listed;
      assertEquals(kindsAndRows(changes), [["insert", null, one], ["update", one, two], [
        "delete",
        two,
        null,
      ]]);
    }
  },
);

async function list(db: Database, table: TableInfo): Promise<readonly unknown[]> {
  const names = table.columns.map((column) => db.dialect.selected(column));
  const query = sql`SELECT ${join(names, ", ")} FROM ${identifier(table.name)}`;
  const { rows } = await db.driver.query(toStatement(query, db.dialect.placeholder));
  return createRowReader(db.dialect, () => {}).toRows(rows, table.columns);
}
