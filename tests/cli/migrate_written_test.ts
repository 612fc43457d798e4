import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { check, index, unique } from "../../mod.ts";
import { integer, table, text } from "../../mod.ts";
import { migrateDatabase } from "../../src/cli/migrate/run_migrate_command.ts";
import { parseArguments } from "../../src/cli/arguments.ts";
import type { Database } from "../../src/db/database.ts";
import { engineOf } from "../../src/db/engine/engine.ts";
import { migrateTables } from "../../src/db/migrations/migrate_tables.ts";
import { tableInfoOf, type TableLike } from "../../src/schema/table_like.ts";
import { testOnDialects } from "../support/http.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { scratchFolder } from "../support/scratch.ts";
import { openDatabase } from "../../mod.ts";

const key = () => integer().primaryKey();

const teams = table("teams", { id: key(), code: text() });
const before = [
  teams,
  table("notes", { id: key(), title: text(), status: text(), teamId: integer(), size: integer() }),
];
const newTeams = table("teams", { id: key(), code: text().notNull().unique() });
const after = [
  newTeams,
  table("notes", {
    id: key(),
    title: text().notNull(),
    status: text({ enum: ["open", "done"] }).notNull().default("open"),
    teamId: integer().references(() => newTeams.id, { onDelete: "cascade" }),
    size: text(),
    extra: text().notNull().default("x"),
  }, (notes) => [index(notes.teamId), unique(notes.title, notes.extra), check("id > 0")]),
  table("tags", { name: text().primaryKey(), code: text().references(() => newTeams.code) }),
];

async function run(
  db: Database,
  tables: readonly TableLike<unknown, unknown>[],
  ...args: string[]
) {
  const printed: string[] = [];
  const command = parseArguments(["migrate", "unused", "--yes", ...args]);
  if (command.kind !== "migrate") throw new Error(JSON.stringify(command));
  const opened = { db, tables: tables.map(tableInfoOf) };
  await migrateDatabase(command, opened, { print: (line) => printed.push(line), ask: null });
  return printed.join("\n");
}

testOnDialects(
  "a plan is written to files, which are run, replayed and checked",
  async (engine) => {
    await using folder = await scratchFolder();
    const db = await engine.open();
    const empty = await engine.open();
    const files = ["--migrations", folder.path];
    const isPostgres = db.dialect.engine === "postgres";
    try {
      assertMatch(
        await run(db, before, ...files, "--write", "first"),
        /Written: 0001_first\.sql\./,
      );
      const lacks = () => run(db, before, ...files, "--write", "second");
      await assertRejects(lacks, Error, "lacks 0001_first.sql: run the files first");
      await run(db, before, ...files);
      await db.query({ text: "INSERT INTO teams (code) VALUES ('a')", values: [] });
      const rows = "INSERT INTO notes (title, status, size) VALUES ('t', 'open', 5)";
      await db.query({ text: rows, values: [] });
      const shown = await run(db, after, ...files, "--write", "second");
      const second = isPostgres
        ? "0002_second.sql, 0003_second_without_locks.sql"
        : "0002_second.sql";
      assertEquals(
        shown.split("\n").at(-1),
        `Written: ${second}. Review and commit, then run them.`,
      );
      await assertRejects(() => run(db, after, "--check"), Error, "notes.extra is missing");
      await run(db, after, ...files);
      assertMatch(await run(db, after, "--check"), /: no difference\.$/);
      assertMatch(await run(db, after), /is as its tables are declared/);
      const { rows: kept } = await db.query({
        text: "SELECT title, size, extra FROM notes",
        values: [],
      });
      assertEquals(kept, [["t", "5", "x"]]);
      await assertRejects(
        () => run(db, after, ...files, "--check"),
        Error,
        "name an empty database",
      );
      assertMatch(await run(empty, after, ...files, "--check"), /: no difference\.$/);
      const drifted = await engine.open();
      const error = await assertRejects(() => run(drifted, before, ...files, "--check"), Error);
      assertMatch(error.message, /differs from the declared tables:\n(?:- .*\n)*- notes\.size is/);
      await drifted.close();
    } finally {
      await Promise.all([db.close(), empty.close()]);
    }
  },
);

testOnPostgres("the plan names the lock that each statement takes", async (url) => {
  const db = await openDatabase(url);
  const random = { bytes: (length: number) => new Uint8Array(length) };
  const plan = async (tables: readonly TableLike<unknown, unknown>[]) => {
    const infos = tables.map(tableInfoOf);
    const options = { allowDrop: ["notes.size", "notes.by_title", "old"], keep: [], dryRun: true };
    return await migrateTables({
      driver: db.driver,
      tables: infos,
      random,
      agreed: null,
      ...options,
    });
  };
  try {
    await db.createTables([
      ...before,
      table("old", { id: key() }),
    ]);
    await db.query({ text: "CREATE INDEX by_title ON notes (title)", values: [] });
    await db.query({ text: "INSERT INTO notes (title, status) VALUES ('t', 'open')", values: [] });
    const { planning } = await engineOf(db).migrations();
    const { steps, refusals } = await plan(after);
    assertEquals(refusals, []);
    const found: [string, string | null][] = [];
    const run = async (sql: string) =>
      await db.driver.transaction(async (connection) => {
        // Tables that a statement creates are locked, too, but no client waits for them.
        const { rows: known } = await connection.query({ text: existing, values: [] });
        await connection.query({ text: sql, values: [] });
        const { rows } = await connection.query({
          text: held(known.flat().join(", ")),
          values: [],
        });
        found.push([sql, rows[0] === undefined ? null : modeOf(String(rows[0][0]))]);
      });
    for (const { sql } of steps) await run(sql);
    assertEquals(found, steps.map(({ sql, lock }) => [sql, lock]));
    for (
      const text of [
        "ALTER TABLE notes ADD CONSTRAINT c CHECK (id > 0) NOT VALID",
        "ALTER TABLE notes VALIDATE CONSTRAINT c",
        'ALTER TABLE "notes" ADD CONSTRAINT "f" FOREIGN KEY (size) REFERENCES teams (code) NOT VALID',
        'ALTER TABLE "notes" VALIDATE CONSTRAINT "f"',
        'CREATE INDEX "by_size" ON notes (size)',
        'ALTER INDEX "by_size" RENAME TO "sized"',
        'ALTER TABLE "notes" RENAME CONSTRAINT "c" TO "d"',
        'ALTER TABLE "notes" RENAME COLUMN title TO name',
        "UPDATE notes SET name = 'u'",
        "DROP INDEX sized",
        'ALTER TABLE "notes" RENAME TO "sheets"',
        'DROP TABLE "sheets"',
      ]
    ) await run(text);
    assertEquals(found, found.map(([sql]) => [sql, planning.lockOf(sql)]));
  } finally {
    await db.close();
  }
});

const existing =
  "SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'";
const strength =
  "ARRAY['AccessShareLock','RowShareLock','RowExclusiveLock','ShareUpdateExclusiveLock','ShareLock','ShareRowExclusiveLock','AccessExclusiveLock']";
const held = (oids: string) =>
  `SELECT mode FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation' AND granted
     AND relation IN (${oids}) AND mode <> 'AccessShareLock'
   ORDER BY array_position(${strength}, mode) DESC LIMIT 1`;

/** `ShareRowExclusiveLock` as Postgres documents it: `SHARE ROW EXCLUSIVE`. */
function modeOf(mode: string): string {
  return mode.replace(/Lock$/, "").replaceAll(/([a-z])([A-Z])/g, "$1 $2").toUpperCase();
}
