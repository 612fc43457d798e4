import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { check, formerly, index, unique } from "../../../src/compile/table_parts.ts";
import { openDatabase } from "../../../src/engines/open_database.ts";
import {
  boolean,
  createdAt,
  integer,
  json,
  real,
  text,
  timestamp,
  uuid,
} from "../../../src/schema/column_builder.ts";
import { table } from "../../../src/schema/table.ts";
import type { TableLike } from "../../../src/schema/table_like.ts";
import { trackMutations } from "../../../src/app/track_mutations.ts";
import { testOnDialects } from "../../support/http.ts";
import { key, read, run } from "./migrate_support.ts";
import type { Database } from "../../../src/db/database.ts";

type Tables = readonly TableLike<unknown, unknown>[];

async function refusals(db: Database, tables: Tables, ...allowDrop: readonly string[]) {
  const message = async (dryRun: boolean) => {
    try {
      await db.migrate(tables, { dryRun, allowDrop });
      return "";
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };
  const refused = await message(true);
  // A dry run refuses what the migration refuses.
  if (refused !== "") assertEquals(await message(false), refused);
  return refused.split("\n- ").slice(1).map((text) =>
    text.replace(/ from (?:TEXT|text)|INTEGER|bigint/g, "")
  );
}

const teams = table("teams", { id: key() });

testOnDialects("what the rows do not allow is refused with what to do", async (engine) => {
  const db = await engine.open();
  const notes = table("notes", {
    id: key(),
    a: text(),
    b: text({ enum: ["x", "y"] }),
    c: integer(),
  });
  try {
    await db.createTables([teams, notes]);
    await run(
      db,
      "INSERT INTO notes (a, b, c) VALUES ('1', 'x', 1), ('1', 'y', 2), (NULL, NULL, NULL)",
    );
    const cases: readonly (readonly [Tables, readonly string[]])[] = [
      [[table("notes", { id: key(), a: text().notNull(), b: text(), c: integer() })], [
        'notes.a is declared NOT NULL, and rows have NULL in it: fill them first, by UPDATE "notes" ' +
        'SET "a" = … WHERE "a" IS NULL',
      ]],
      [[table("notes", { id: key(), a: text().unique(), b: text(), c: integer() })], [
        "notes has rows that share a, which is declared unique",
      ]],
      [[
        table("notes", { id: key(), a: text(), b: text(), c: integer() }, (notes) => [
          check("c > 1"),
          unique(notes.a, notes.id),
        ]),
      ], ["notes has rows that fail the check c > 1: change these first"]],
      [[table("notes", { id: key(), a: integer(), b: text(), c: integer() })], [
        "notes.a would become , which may change or lose values: --allow-drop notes.a does it all " +
        "the same",
      ]],
      [[table("notes", { id: key(), a: text(), b: text({ enum: ["x"] }), c: integer() })], [
        "notes.b has rows with values that are not declared: --allow-drop notes.b makes them NULL",
      ]],
      [[
        teams,
        table("notes", {
          id: key(),
          a: text(),
          b: text(),
          c: integer().references(() => teams.id),
        }),
      ], ["notes has rows whose c is no row of teams: change these first"]],
      [[
        table("notes", { id: key(), a: text(), b: text(), c: integer(), d: boolean().notNull() }),
      ], [
        "notes.d is declared NOT NULL without a default of the database, and notes has rows: declare " +
        "a default, or let it be NULL, fill it and declare it NOT NULL then",
      ]],
      [[table("notes", { id: key(), e: text(), b: text(), c: integer() })], [
        "notes.a is not declared any more, and notes.e of the same type is new: is it a rename? Then " +
        'declare .was("a"); if not, --allow-drop notes.a drops it, and --keep notes.a leaves it',
      ]],
    ];
    for (const [tables, expected] of cases) {
      const found = await refusals(db, tables);
      const engineOwn = (text: string) => text.replace(/\(?\(?c > 1\)?\)?/, "c > 1");
      assertEquals(found.map(engineOwn), expected);
    }
    assertEquals(await read(db, "SELECT a, b FROM notes ORDER BY id"), [["1", "x"], ["1", "y"], [
      null,
      null,
    ]]);
  } finally {
    await db.close();
  }
});

testOnDialects("what is allowed to be lost is lost, and nothing else", async (engine) => {
  const db = await engine.open();
  const before = table("notes", {
    id: key(),
    size: text(),
    status: text({ enum: ["x", "y"] }),
    old: text().notNull(),
    kept: text().notNull(),
  }, (notes) => [index(notes.old), index(notes.kept).as("by_kept")]);
  const after = table("notes", {
    id: key(),
    size: integer(),
    status: text({ enum: ["x"] }).notNull().default("x"),
    ratio: real().notNull().default(0.5),
    at: createdAt(),
  });
  try {
    await db.createTables([before]);
    await run(db, "CREATE TABLE other (a int)", "INSERT INTO other VALUES (1)");
    await run(
      db,
      "INSERT INTO notes (size, status, old, kept) VALUES ('10', 'x', 'o', 'k'), (NULL, 'y', 'o', 'k')",
    );
    const { left, steps } = await db.migrate([after], {
      allowDrop: ["notes.size", "notes.status", "notes.old"],
      keep: ["notes.kept"],
    });
    assertEquals(left, [
      "notes.kept is not declared and stays: --allow-drop notes.kept drops it",
    ]);
    assertEquals(steps.some(({ loses }) => loses?.includes("notes.old")), true);
    const rows = await read(db, "SELECT size, status, ratio, kept FROM notes ORDER BY id");
    assertEquals(rows.map((row) => row.map((cell) => cell === null ? null : String(cell))), [
      ["10", "x", "0.5", "k"],
      [null, "x", "0.5", "k"],
    ]);
    const [moment] = await read(db, "SELECT count(at), count(DISTINCT at) FROM notes");
    assertEquals(moment?.map(Number), [2, 1]);
    // A new row needs no value of the column that is declared no more.
    await run(db, "INSERT INTO notes (size, at) SELECT 3, at FROM notes LIMIT 1");
    assertEquals(await read(db, "SELECT kept FROM notes WHERE size = 3"), [[null]]);
    assertEquals((await read(db, "SELECT a FROM other")).flat().map(Number), [1]);
    assertEquals((await db.migrate([after], { dryRun: true })).steps, []);
    await db.migrate([after], { allowDrop: ["other", "notes.by_kept"] });
    await assertRejects(() => read(db, "SELECT a FROM other"));
  } finally {
    await db.close();
  }
});

testOnDialects(
  "a key that counted up becomes a text, and texts that are no numbers stay",
  async (engine) => {
    const db = await engine.open();
    try {
      await db.createTables([table("notes", { id: key(), v: text() })]);
      await run(db, "INSERT INTO notes (v) VALUES ('abc')");
      const numbers = table("notes", { id: key(), v: integer() });
      const error = await assertRejects(
        () => db.migrate([numbers], { allowDrop: ["notes.v"] }),
        Error,
      );
      assertMatch(
        error.message,
        /^Cannot migrate:\n- notes\.v would become \w+, and (?:.*abc.*|has values that are no such numbers): change these values first$/,
      );
      await db.migrate([table("notes", { id: text().primaryKey(), v: text() })]);
      assertEquals(await read(db, "SELECT id, v FROM notes"), [["1", "abc"]]);
    } finally {
      await db.close();
    }
  },
);

testOnDialects(
  "values that a new type cannot store are found before any statement",
  async (engine) => {
    const db = await engine.open();
    const isSqlite = engine.name !== "postgres";
    try {
      await db.createTables([
        table("notes", { id: key(), a: real(), b: text(), c: integer() }),
      ]);
      await run(db, "INSERT INTO notes (a, b, c) VALUES (1e30, '{', 7)");
      const retyped = (columns: Parameters<typeof table>[1]) =>
        table("notes", { id: key(), ...columns });
      const bigger = retyped({ a: integer(), b: text(), c: integer() });
      const found = (await refusals(db, [bigger], "notes.a")).join();
      assertMatch(found, /^notes\.a would become .*: change these values first$/);
      const member = retyped({ a: real(), b: text(), c: text({ enum: ["x"] }) });
      assertEquals(await refusals(db, [member]), [
        "notes.c has rows with values that are not declared: --allow-drop notes.c makes them NULL",
      ]);
      await db.migrate([member], { allowDrop: ["notes.c"], dryRun: true });
      if (!isSqlite) {
        for (const b of [json(), timestamp()]) {
          const found = (await refusals(db, [retyped({ a: real(), b, c: integer() })], "notes.b"))
            .join();
          assertMatch(
            found,
            /^notes\.b would become .*the database cannot convert.*invalid input syntax/,
          );
        }
      }
      await run(db, "UPDATE notes SET b = '7'");
      const small = table("notes", { id: key(), a: real(), b: integer(), c: integer() }, () => [
        check("b < 5"),
      ]);
      const failing = (await refusals(db, [small], "notes.b")).join();
      assertMatch(failing, /^notes has rows that fail the check \(?b < 5\)?: change these first$/);
      await run(db, "INSERT INTO notes (a, b) VALUES (1.4, '1'), (1.4, '01')");
      const single = table("notes", { id: key(), a: real(), b: integer().unique(), c: integer() });
      assertEquals(await refusals(db, [single], "notes.b"), [
        "notes has rows that share b, which is declared unique",
      ]);
      await db.migrate([member], { allowDrop: ["notes.c"] });
      assertEquals(await read(db, "SELECT c FROM notes WHERE id = 1"), [[null]]);
    } finally {
      await db.close();
    }
  },
);

testOnDialects(
  "a rename that only changes case keeps the rows, and is done once",
  async (engine) => {
    const db = await engine.open();
    const before = table("notes", { id: key(), userid: text() }, (notes) => [index(notes.userid)]);
    const after = table("Notes", { id: key(), userId: text().was("userid") }, (notes) => [
      index(notes.userId),
      formerly("notes"),
    ]);
    try {
      await db.createTables([before]);
      await run(db, "INSERT INTO notes (userid) VALUES ('ada')");
      const { steps } = await db.migrate([after]);
      // SQLite ignores the case of names, so nothing changes.
      assertEquals(steps.length > 0, engine.name === "postgres");
      assertEquals((await db.migrate([after])).steps, []);
      await db.createTables([after]);
      assertEquals(await read(db, 'SELECT "userId" FROM "Notes"'), [["ada"]]);
    } finally {
      await db.close();
    }
  },
);

testOnDialects("recorded tables stay recorded, without what was left out", async (engine) => {
  const db = await engine.open();
  const columns = { id: key(), title: text(), secret: text(), own: uuid() };
  const before = table("notes", columns);
  const after = table("notes", {
    ...columns,
    title: text().notNull().default("new"),
    secret: text().as("hidden").was("secret"),
    size: integer({ min: 0 }),
  });
  try {
    await db.createTables([before]);
    await trackMutations(db, [before], { exclude: [before.secret] });
    await run(db, "INSERT INTO notes (title, secret) VALUES ('first', 's')");
    await db.migrate([after]);
    await run(db, "INSERT INTO notes (title, hidden, size) VALUES ('second', 's', 2)");
    const log = await read(db, "SELECT op, after FROM _service_changes ORDER BY seq");
    const changes = log.map(([op, after]) => after === null ? op : JSON.parse(String(after)));
    // Streams begin again, perhaps twice.
    assertEquals(changes.filter((one, index) => one !== "touch" || changes[index - 1] !== one), [
      { id: 1, title: "first", own: null },
      "touch",
      { id: 2, title: "second", own: null, size: 2 },
    ]);
  } finally {
    await db.close();
  }
});

Deno.test("a table of SQLite that is made again keeps all that others know of it", async () => {
  const db = await openDatabase("sqlite::memory:");
  const notes = table("notes", { name: text().primaryKey(), size: integer().notNull() });
  try {
    await run(
      db,
      `CREATE TABLE notes (name TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, size INTEGER, extra AS (size + 1))`,
      "CREATE TABLE kids (note TEXT REFERENCES notes ON DELETE CASCADE ON UPDATE CASCADE)",
      "CREATE TABLE seen (name)",
      "CREATE INDEX by_words ON notes (lower(name)) WHERE size > 0",
      "CREATE TRIGGER seen_notes AFTER UPDATE OF size ON notes BEGIN INSERT INTO seen VALUES (NEW.name); END",
      "CREATE TRIGGER on_seen AFTER DELETE ON seen BEGIN UPDATE notes SET size = 0; END",
      "CREATE VIEW large AS SELECT name FROM notes WHERE size > 1",
      "INSERT INTO notes (rowid, name, size) VALUES (7, 'a', 1), (9, 'b', 2)",
      "INSERT INTO kids VALUES ('A'), ('b')",
    );
    await db.migrate([notes]);
    assertEquals(
      await read(db, "SELECT rowid, name, size, extra FROM notes WHERE name IN ('A', 'B')"),
      [
        [7, "a", 1, 2],
        [9, "b", 2, 3],
      ],
    );
    await run(
      db,
      "UPDATE notes SET size = 5 WHERE name = 'a'",
      "DELETE FROM notes WHERE name = 'b'",
    );
    assertEquals(await read(db, "SELECT * FROM kids"), [["A"]], "foreign keys are enforced again");
    assertEquals(await read(db, "SELECT * FROM seen"), [["a"]]);
    assertEquals(await read(db, "SELECT * FROM large"), [["a"]]);
    await run(db, "DELETE FROM seen");
    assertEquals(await read(db, "SELECT size FROM notes"), [[0]]);
    const [[plan] = []] = await read(db, "SELECT sql FROM sqlite_schema WHERE name = 'by_words'");
    assertEquals(plan, "CREATE INDEX by_words ON notes (lower(name)) WHERE size > 0");
  } finally {
    await db.close();
  }
});

Deno.test("numbers of SQLite count on, and what would not work any more changes nothing", async () => {
  const db = await openDatabase("sqlite::memory:");
  try {
    await run(
      db,
      "CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, size INTEGER, old TEXT)",
      "INSERT INTO notes (size) VALUES (1), (2)",
      "DELETE FROM notes WHERE id = 2",
      "CREATE VIEW olds AS SELECT old FROM notes",
    );
    const notes = table("notes", { id: key(), size: integer().notNull() });
    await assertRejects(
      () => db.migrate([notes], { allowDrop: ["notes.old"] }),
      Error,
      "Cannot migrate: the view olds would not work any more",
    );
    assertEquals(await read(db, "SELECT id, size, old FROM notes"), [[1, 1, null]]);
    await run(
      db,
      "DROP VIEW olds",
      "CREATE TRIGGER olds AFTER DELETE ON notes BEGIN SELECT OLD.old; END",
    );
    await assertRejects(
      () => db.migrate([notes], { allowDrop: ["notes.old"] }),
      Error,
      "Cannot migrate: a trigger of notes would not work any more",
    );
    await run(db, "DROP TRIGGER olds");
    await db.migrate([notes], { allowDrop: ["notes.old"] });
    await run(db, "INSERT INTO notes (size) VALUES (3)");
    assertEquals(await read(db, "SELECT id FROM notes"), [[1], [3]]);
    const [[legacy] = []] = await read(db, "SELECT * FROM pragma_legacy_alter_table");
    assertEquals(legacy, 0);
  } finally {
    await db.close();
  }
});
