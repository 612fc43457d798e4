import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Change } from "../../src/db/change_log.ts";
import { DatabaseError } from "../../src/db/database_error.ts";
import { type Database, openDatabase } from "../../src/db/open_database.ts";
import { createRowReader } from "../../src/db/rows.ts";
import type { TableInfo } from "../../src/schema/table_info.ts";
import { identifier, join, sql, toStatement } from "../../src/sql/fragment.ts";
import { openLog, readOn } from "../conformance/change_log_support.ts";
import { run, scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { missingSqliteShell, sqliteShell } from "../support/sqlite_shell.ts";

/** A table, called t, whose statements may drive rows out, with its columns. */
interface World {
  readonly name: string;
  readonly script: readonly string[];
  readonly columns: readonly string[];
  /** Its triggers change rows that are being written, or call each other without end. */
  readonly isWild?: true;
}

const worlds: readonly World[] = [
  {
    name: "a row id and a unique text that ignores case",
    script: ["CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT COLLATE NOCASE UNIQUE, b, c)"],
    columns: ["id", "a", "b", "c"],
  },
  {
    name: "several unique columns, some NULL, and a default for NULL",
    script: [`CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL DEFAULT x UNIQUE,
      b INT, c REAL UNIQUE, UNIQUE (b, c))`],
    columns: ["id", "a", "b", "c"],
  },
  {
    name: "a key of two columns without row ids",
    script: [
      "CREATE TABLE t (a TEXT, b INT, c, PRIMARY KEY (a, b)) WITHOUT ROWID",
      "CREATE UNIQUE INDEX t_c ON t (c COLLATE NOCASE DESC)",
    ],
    columns: ["a", "b", "c"],
  },
  {
    name: "a key of text",
    script: ["CREATE TABLE t (a TEXT PRIMARY KEY NOT NULL, b INT UNIQUE, c)"],
    columns: ["a", "b", "c", "rowid"],
  },
  {
    name: "partial indexes and expressions",
    script: [
      "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b INT, c)",
      `CREATE UNIQUE INDEX t_a ON t (a) WHERE b IS NULL OR "t"."b" > 1 -- not (always)\n`,
      "CREATE UNIQUE INDEX t_c ON t (lower(c) /* ) */, (b % 2) DESC)",
    ],
    columns: ["id", "a", "b", "c"],
  },
  {
    name: "a stored column that is generated",
    script: [
      "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b INT, c, g TEXT AS (a || b) STORED UNIQUE)",
    ],
    columns: ["id", "a", "b", "c"],
  },
  {
    name: "constraints that replace by themselves",
    script: [`CREATE TABLE t (id INTEGER PRIMARY KEY ON CONFLICT REPLACE,
      a TEXT UNIQUE ON CONFLICT REPLACE, b INT UNIQUE ON CONFLICT IGNORE, c)`],
    columns: ["id", "a", "b", "c"],
  },
  {
    name: "triggers that write the table again, and rows that refer to it",
    script: [
      "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT UNIQUE, b INT, c UNIQUE)",
      "CREATE TABLE child (id INTEGER PRIMARY KEY, t INT REFERENCES t (id) ON DELETE CASCADE)",
      `CREATE TRIGGER child_of AFTER INSERT ON t BEGIN
        INSERT INTO child (t) VALUES (NEW.id); END`,
      `CREATE TRIGGER made_way BEFORE INSERT ON t BEGIN
        UPDATE t SET c = NULL WHERE c = NEW.c AND b IS NULL; END`,
      `CREATE TRIGGER stamped AFTER UPDATE OF a ON t BEGIN
        UPDATE t SET b = 7 WHERE id = NEW.id; END`,
    ],
    columns: ["id", "a", "b", "c"],
    isWild: true,
  },
];

const value = (column: string) =>
  column === "id" || column === "rowid"
    ? fc.constantFrom("1", "2", "3", "-1", "NULL")
    : fc.constantFrom("1", "2", "1.5", "'x'", "'X'", "'y'", "NULL", "'1'");

const policy = fc.constantFrom(
  ...["", "", "OR IGNORE ", "OR FAIL ", "OR ABORT ", "OR REPLACE ", "OR REPLACE ", "OR REPLACE "],
);

function statements({ columns }: World): fc.Arbitrary<readonly string[]> {
  const some = fc.subarray([...columns], { minLength: 1 });
  const tuple = (names: readonly string[]) =>
    fc.tuple(...names.map(value)).map((values) => `(${values.join(", ")})`);
  const insert = fc.tuple(policy, some, fc.constantFrom("", "", " ON CONFLICT DO NOTHING", null))
    .chain(([policy, names, conflict]) =>
      fc.tuple(fc.array(tuple(names), { minLength: 1, maxLength: 3 }), set(columns)).map((
        [tuples, sets],
      ) =>
        `INSERT ${policy}INTO t (${names.join(", ")}) VALUES ${tuples.join(", ")}${
          conflict ?? ` ON CONFLICT DO UPDATE SET ${sets}`
        }`
      )
    );
  const update = fc.tuple(policy, set(columns), value("b")).map(([policy, sets, limit]) =>
    `UPDATE ${policy}t SET ${sets} WHERE b IS NOT ${limit}`
  );
  const other = fc.constantFrom(
    "DELETE FROM t WHERE c = 1.5",
    "VACUUM",
    "DELETE FROM t WHERE b = 2",
  );
  return fc.array(
    fc.oneof({ weight: 6, arbitrary: insert }, { weight: 3, arbitrary: update }, {
      weight: 1,
      arbitrary: other,
    }),
    { minLength: 1, maxLength: 14 },
  );
}

function set(columns: readonly string[]): fc.Arbitrary<string> {
  return fc.subarray([...columns], { minLength: 1, maxLength: 2 }).chain((names) =>
    fc.tuple(...names.map(value)).map((values) =>
      names.map((name, index) => `${name} = ${values[index]}`).join(", ")
    )
  );
}

const libraries = { "better-sqlite3": "sqlite", "node:sqlite": "node-sqlite" };

for (const [library, scheme] of Object.entries(libraries)) {
  for (const recursive of ["OFF", "ON"]) {
    for (const world of worlds) {
      if (recursive === "ON" && world.isWild) continue;
      Deno.test(`a row that REPLACE drives out is a delete: ${world.name} (${library}, recursive_triggers ${recursive})`, async () => {
        const db = await openDatabase(`${scheme}::memory:`);
        // In a transaction, as it would be told to the connection that reads otherwise.
        await db.driver.transaction((connection) =>
          connection.query({ text: `PRAGMA recursive_triggers = ${recursive}`, values: [] })
        );
        await follow(db, world, 20, async (script) => {
          for (const text of script) await tolerant(db, text);
        });
        await db.close();
      });
    }
  }
}

for (const recursive of ["OFF", "ON"]) {
  for (const world of worlds) {
    if (recursive === "ON" && world.isWild) continue;
    testUnless(
      missingSqliteShell,
      `a row that the sqlite3 command drives out is a delete: ${world.name} (recursive_triggers ${recursive})`,
      async () => {
        await using folder = await scratchFolder();
        const path = `${folder.path}/t.db`;
        const db = await openDatabase(`sqlite:${path}`);
        await follow(db, world, 6, async (script) => {
          const pragmas = ["foreign_keys = ON", `recursive_triggers = ${recursive}`];
          const all = [
            ...pragmas.map((pragma) => `PRAGMA ${pragma}`),
            ...script.filter((text) => text !== "VACUUM"),
          ];
          await sqliteShell(path, all.map((text) => `${text};\n`).join(""), "failures pass");
        });
        await db.close();
      },
    );
  }
}

/** Constraints refuse some of the statements, as they should. */
async function tolerant(db: Database, text: string): Promise<void> {
  try {
    await run(db, text);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    assert(!/no such|syntax|ambiguous/.test(String(error.cause)), `${text}: ${error.cause}`);
  }
}

/** What the log tells of each script leads from the rows before it to those behind it. */
async function follow(
  db: Database,
  world: World,
  numRuns: number,
  write: (script: readonly string[]) => Promise<void>,
): Promise<void> {
  for (const text of world.script) await run(db, text);
  const { tables } = await db.introspect();
  const table = tables.find(({ name }) => name === "t");
  assert(table !== undefined);
  const log = await openLog(db, [table]);
  await fc.assert(
    fc.asyncProperty(statements(world), async (script) => {
      const rows = byKey(await list(db, table), table);
      const from = await log.end();
      await write(script);
      const { changes } = await readOn(log, from);
      for (const change of changes) apply(change, rows, { table, isWild: world.isWild === true });
      assertEquals(sorted(rows), byKey(await list(db, table), table), "the log leads elsewhere");
    }),
    { numRuns },
  );
  await log.close();
}

type Rows = Map<string, unknown>;

function apply(
  { kind, before, after }: Change,
  rows: Rows,
  { table, isWild }: { readonly table: TableInfo; readonly isWild: boolean },
): void {
  if (before !== null) {
    const was = rows.get(keyOf(before, table));
    // SQLite itself overwrites what a trigger does to a row in the midst of its update.
    if (isWild && kind === "update") assert(was !== undefined, "it was not there");
    else assertEquals(before, was, "it was not so");
    rows.delete(keyOf(before, table));
  }
  if (after === null) return;
  assert(!rows.has(keyOf(after, table)), "the row is there already");
  rows.set(keyOf(after, table), after);
}

function byKey(rows: readonly object[], table: TableInfo): Rows {
  return sorted(new Map(rows.map((row) => [keyOf(row, table), row])));
}

function sorted(rows: Rows): Rows {
  return new Map([...rows].toSorted(([left], [right]) => left < right ? -1 : 1));
}

function keyOf(row: object, { primaryKey }: TableInfo): string {
  const values = new Map(Object.entries(row));
  return JSON.stringify(primaryKey.map(({ name }) => values.get(name)));
}

async function list(db: Database, table: TableInfo): Promise<readonly object[]> {
  const names = table.columns.map((column) => db.dialect.selected(column));
  const query = sql`SELECT ${join(names, ", ")} FROM ${identifier(table.name)}`;
  const { rows } = await db.driver.query(toStatement(query, db.dialect.placeholder));
  return createRowReader(db.dialect, () => {}).toRows(rows, table.columns);
}
