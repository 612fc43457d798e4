import { assertEquals } from "@std/assert";
import { openLog, readOn } from "../conformance/change_log_support.ts";
import { run, scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { missingSqliteShell, sqliteShell } from "../support/sqlite_shell.ts";
import {
  follow,
  libraries,
  opened,
  tolerant,
  useRecursion,
  type World,
} from "./replaced_rows_support.ts";

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

/** Tables into which triggers write rows while others are being replaced. */
const interruptedWorlds = Object.entries({
  "a row id": ["id INTEGER PRIMARY KEY, a TEXT UNIQUE, b INT, c UNIQUE", "id"],
  "a row id that is never given again": [
    "id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT UNIQUE, b INT, c UNIQUE",
    "id",
  ],
  "a key of text": ["id INT UNIQUE, a TEXT PRIMARY KEY NOT NULL, b INT, c UNIQUE", "a"],
  "no row ids": ["id INT UNIQUE, a TEXT PRIMARY KEY NOT NULL, b INT, c UNIQUE", "a"],
}).map(([name, [columns, key]]): World => ({
  name,
  script: [
    `CREATE TABLE t (${columns})${name === "no row ids" ? " WITHOUT ROWID" : ""}`,
    `CREATE TABLE child (id INTEGER PRIMARY KEY, t REFERENCES t (${key}) ON DELETE CASCADE)`,
    `CREATE TRIGGER child_of AFTER INSERT ON t BEGIN
      INSERT INTO child (t) VALUES (NEW.${key}); END`,
    `CREATE TRIGGER gone AFTER DELETE ON child BEGIN
      UPDATE t SET b = 5 WHERE c = 1.5;
      INSERT OR IGNORE INTO t (a, c) VALUES (iif(OLD.id % 3, 'x', '1'), OLD.id % 3); END`,
  ],
  columns: ["id", "a", "b", "c"],
  isWild: true,
  mayTouch: true,
}));

for (const { library, scheme, share } of libraries) {
  for (const recursive of ["OFF", "ON"]) {
    for (const world of worlds) {
      if (recursive === "ON" && world.isWild) continue;
      Deno.test(`a row that REPLACE replaces is a delete: ${world.name} (${library}, recursive_triggers ${recursive})`, async () => {
        await using database = await opened(`${scheme}::memory:`);
        const { db } = database;
        await useRecursion(db, recursive);
        await follow(db, world, Math.ceil(8 * share), async (script) => {
          for (const text of script) await tolerant(db, text);
        });
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
        await using database = await opened(`sqlite:${path}`);
        await follow(database.db, world, 4, async (script) => {
          const pragmas = ["foreign_keys = ON", `recursive_triggers = ${recursive}`];
          const all = [
            ...pragmas.map((pragma) => `PRAGMA ${pragma}`),
            ...script.filter((text) => text !== "VACUUM"),
          ];
          await sqliteShell(path, all.map((text) => `${text};\n`).join(""), "failures pass");
        });
      },
    );
  }
}

for (const { library, scheme, share } of libraries) {
  for (const recursive of ["OFF", "ON"]) {
    for (const world of interruptedWorlds) {
      Deno.test(`a write to a table whose rows are being replaced is no wrong change: ${world.name} (${library}, recursive_triggers ${recursive})`, async () => {
        await using database = await opened(`${scheme}::memory:`);
        const { db } = database;
        await useRecursion(db, recursive);
        const scripts = Math.ceil((recursive === "ON" ? 6 : 15) * share);
        await follow(db, world, scripts, async (script) => {
          for (const text of script) await tolerant(db, text);
        });
      });
    }
  }

  Deno.test(`a row that takes the key of another while that is deleted is a touch (${library})`, async () => {
    await using database = await opened(`${scheme}::memory:`);
    const { db } = database;
    await run(db, "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT UNIQUE)");
    await run(db, "CREATE TABLE child (t INT REFERENCES t (id) ON DELETE CASCADE)");
    await run(
      db,
      `CREATE TRIGGER again AFTER DELETE ON child BEGIN
      INSERT INTO t VALUES (OLD.t, 'again'); END`,
    );
    const { tables } = await db.introspect();
    const log = await openLog(db, tables.filter(({ name }) => name === "t"));
    await using _ = { [Symbol.asyncDispose]: () => log.close() };
    const kinds = async (...script: readonly string[]) => {
      const from = await log.end();
      for (const text of script) await run(db, text);
      return (await readOn(log, from)).changes.map(({ kind }) => kind);
    };
    const added = ["INSERT INTO t VALUES (1, 'x')", "INSERT INTO child VALUES (1)"];
    await kinds(...added);
    const replaced = await kinds("REPLACE INTO t VALUES (2, 'x')");
    assertEquals(replaced.includes("touch"), true, replaced.join());
    assertEquals(await kinds("REPLACE INTO t VALUES (3, 'x')"), ["delete", "insert"]);
    await kinds("DELETE FROM t", ...added);
    const deleted = await kinds("DELETE FROM t WHERE id = 1");
    assertEquals(deleted.includes("touch"), true, deleted.join());
    assertEquals(await kinds("DELETE FROM t WHERE id = 1"), ["delete"]);
  });
}
