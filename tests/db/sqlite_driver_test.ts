import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { openBetterSqlite3 } from "../../src/engines/sqlite/driver/better_sqlite3_driver.ts";
import { createCompiler } from "../../src/compile/compile.ts";
import type { Driver } from "../../src/db/driver.ts";
import { openNodeSqlite } from "../../src/engines/sqlite/driver/node_sqlite_driver.ts";
import type { SqliteOptions } from "../../src/db/driver_options.ts";
import { eq } from "../../src/filter/builders.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { fails } from "../conformance/driver.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { missingSqliteShell, sqliteShell } from "../support/sqlite_shell.ts";

type Open = (path: string, options?: SqliteOptions) => Promise<Driver>;

const drivers: readonly (readonly [string, Open])[] = [
  ["better-sqlite3", openBetterSqlite3],
  ["node:sqlite", openNodeSqlite],
];

const pairs = [
  ["better-sqlite3", openBetterSqlite3, openNodeSqlite],
  ["node:sqlite", openNodeSqlite, openBetterSqlite3],
] as const;

for (const [name, open] of drivers) {
  const test = (promise: string, work: (path: string) => Promise<void>) => {
    Deno.test(`${name}: ${promise}`, async () => {
      await using folder = await scratchFolder();
      await work(`${folder.path}/a.db`);
    });
  };

  test("the wait for a lock of another process does not block this one", async (path) => {
    const driver = await open(path, { waitLimitMs: 1_000 });
    await query(driver, "CREATE TABLE t (n)");
    await using other = await lockFromOtherProcess(path);
    let ticks = 0;
    const ticking = setInterval(() => ticks++, 5);
    await fails(query(driver, "INSERT INTO t VALUES (1)"), "unavailable");
    await fails(driver.transaction(() => Promise.resolve()), "unavailable");
    assert(ticks > 40, `${ticks} ticks in two seconds`);
    clearInterval(ticking);
    assertEquals((await query(driver, "SELECT * FROM t")).rows, []);
    const waiting = query(driver, "INSERT INTO t VALUES (2)");
    await other.release();
    await waiting;
    assertEquals((await query(driver, "SELECT n FROM t")).rows, [[2]]);
    await driver.close();
  });

  test("a full disk rolls the whole transaction back, also when the work continues", async (path) => {
    const driver = await open(path);
    await query(driver, "CREATE TABLE t (n, b)");
    // The limit belongs to a connection: inside a transaction it is that of the writing one.
    await driver.transaction(async (connection) => {
      await connection.query({ text: "PRAGMA max_page_count = 20", values: [] });
    });
    const work = driver.transaction(async (connection) => {
      await connection.query({ text: "INSERT INTO t VALUES (1, '')", values: [] });
      const text = "INSERT INTO t VALUES (2, zeroblob(1000000))";
      await fails(connection.query({ text, values: [] }), "unavailable");
      await fails(
        connection.query({ text: "INSERT INTO t VALUES (3, '')", values: [] }),
        "unavailable",
      );
    });
    await fails(work, "unavailable");
    await query(driver, "INSERT INTO t VALUES (4, '')");
    assertEquals((await query(driver, "SELECT n FROM t")).rows, [[4]]);
    await driver.close();
  });

  test("a read-only file stays as it is", async (path) => {
    const writable = await open(path);
    await query(writable, "PRAGMA user_version = 7");
    await query(writable, "CREATE TABLE t (n)");
    await writable.close();
    await toRollbackJournal(path);
    const before = await Deno.readFile(path);
    const driver = await open(path, { readOnly: true });
    assertEquals((await query(driver, "SELECT count(*) FROM t")).rows, [[0]]);
    await fails(query(driver, "INSERT INTO t VALUES (1)"), "read-only");
    await fails(query(driver, "CREATE TABLE t2 (n)"), "read-only");
    await fails(driver.transaction(() => Promise.resolve()), "read-only");
    assertEquals(await Array.fromAsync(Deno.readDir(dirname(path)), (entry) => entry.name), [
      "a.db",
    ]);
    await driver.close();
    assertEquals(await Deno.readFile(path), before);
  });

  test("it opens in WAL mode, with foreign keys, durable commits and triggers as SQLite runs them", async (path) => {
    const driver = await open(path);
    // Inside a transaction the writing connection is used.
    const settings = await driver.transaction(async (connection) => {
      const names = ["journal_mode", "foreign_keys", "synchronous", "recursive_triggers"];
      const values = [];
      for (const name of names) {
        const { rows } = await connection.query({ text: `PRAGMA ${name}`, values: [] });
        values.push(rows[0]?.[0]);
      }
      return values;
    });
    assertEquals(settings, ["wal", 1, 2, 0]);
    await driver.close();
    assertEquals(await Array.fromAsync(Deno.readDir(dirname(path)), (entry) => entry.name), [
      "a.db",
    ]);
  });

  test("a statement cannot begin a transaction", async (path) => {
    const driver = await open(path);
    await assertRejects(() => query(driver, "BEGIN IMMEDIATE"), Error, "use transaction()");
    await assertRejects(() => query(driver, "BEGIN"), Error, "use transaction()");
    await query(driver, "CREATE TABLE t (n)");
    assertEquals((await query(driver, "SELECT count(*) FROM t")).rows, [[0]]);
    await driver.close();
  });

  test("the error for a file that is no database says what to do", async (path) => {
    await Deno.writeTextFile(path, "just a text, and a little longer");
    await assertRejects(() => open(path), Error, "it is not a SQLite database");
    await assertRejects(() => open(dirname(path)), Error, "it is a folder");
    await assertRejects(() => open(`${path}.absent`, { readOnly: true }), Error, "no such file");
    await assertRejects(() => open(`${dirname(path)}/absent/b.db`), Error, "create the folder");
    await Deno.writeTextFile(path, "SQLite format 3\0 and nothing more");
    await assertRejects(() => open(path), Error, "it is not a SQLite database");
    await assertRejects(() => open(path, { readOnly: true }), Error, "it is not a SQLite database");
  });
}

for (const [name, open, openOther] of pairs) {
  testUnless(
    missingSqliteShell,
    `${name}: opening a file once more takes no lock from those that have it open`,
    async () => {
      await using folder = await scratchFolder();
      const path = `${folder.path}/a.db`;
      const first = await open(path);
      await query(first, "CREATE TABLE t (a INTEGER PRIMARY KEY)");
      const second = await open(path);
      await assertRejects(() => openOther(path), Error, "use one of them");
      // Without the lock the program would take itself for the last to leave: it would remove the
      // journal, and the next commit would go to a file that has no name.
      await sqliteShell(path, "SELECT * FROM t;\n");
      await query(first, "INSERT INTO t VALUES (7)");
      assertEquals(await sqliteShell(path, "SELECT * FROM t;\n"), "7\n");
      await second.close();
      await first.close();
    },
  );
}

Deno.test("the two SQLite libraries never share a file of one process", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/a.db`;
  const first = await openBetterSqlite3(path);
  await Deno.symlink(path, `${folder.path}/link.db`);
  for (const other of [path, `${folder.path}/./a.db`, `${folder.path}/link.db`]) {
    await assertRejects(() => openNodeSqlite(other), Error, "use one of them");
  }
  const second = await openBetterSqlite3(path);
  await first.close();
  await assertRejects(() => openNodeSqlite(path), Error, "use one of them");
  await second.close();
  await (await openNodeSqlite(path)).close();
});

Deno.test("a database in memory leaves no file", async () => {
  // A temporary folder that no other test writes to.
  await using folder = await scratchFolder();
  const module = JSON.stringify(
    import.meta.resolve("../../src/engines/sqlite/driver/node_sqlite_driver.ts"),
  );
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "eval",
      `import { openNodeSqlite } from ${module};
      const names = () => Array.from(Deno.readDirSync(Deno.env.get("TMPDIR")), ({ name }) => name);
      const driver = await openNodeSqlite(":memory:");
      const open = names();
      await driver.close();
      console.log(open.length, names().length);`,
    ],
    env: { TMPDIR: folder.path, NO_COLOR: "1" },
    stderr: "inherit",
  }).output();
  assertEquals(new TextDecoder().decode(stdout), "1 0\n");
});

Deno.test("a database in memory is gone with a process that did not close it", async () => {
  await using folder = await scratchFolder();
  const module = JSON.stringify(
    import.meta.resolve("../../src/engines/sqlite/driver/node_sqlite_driver.ts"),
  );
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", `import { openNodeSqlite } from ${module}; await openNodeSqlite(":memory:");`],
    env: { TMPDIR: folder.path },
    stderr: "inherit",
  }).output();
  assertEquals(code, 0);
  assertEquals(await Array.fromAsync(Deno.readDir(folder.path)), []);
});

for (
  const index of [
    "CREATE INDEX i ON jobs (state)",
    "CREATE INDEX i ON jobs (id)\nWHERE state = 'due'",
  ]
) {
  Deno.test(`better-sqlite3: a filter uses the index of ${JSON.stringify(index)}`, async () => {
    await using folder = await scratchFolder();
    const before = await openBetterSqlite3(`${folder.path}/a.db`);
    await query(before, "CREATE TABLE jobs (id INTEGER PRIMARY KEY, state TEXT)");
    await query(before, index);
    await before.close();
    const jobs = table("jobs", { id: integer().primaryKey(), state: text() });
    const where = eq(jobs.state, "due");
    const driver = await openBetterSqlite3(`${folder.path}/a.db`);
    const count = createCompiler(driver.dialect)({
      kind: "count",
      table: tableInfoOf(jobs),
      where,
    });
    const { rows } = await driver.query({ ...count, text: `EXPLAIN QUERY PLAN ${count.text}` });
    assertMatch(String(rows[0]?.[3]), /INDEX i\b/);
    await driver.close();
  });
}

async function query(driver: Driver, text: string) {
  return await driver.query({ text, values: [] });
}

function dirname(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

/** Another process, since two libraries must not meet in one. */
function sqliteProcess(path: string, script: string): Deno.Command {
  const code = `import { DatabaseSync } from "node:sqlite";
    const db = new DatabaseSync(${JSON.stringify(path)});
    ${script}
    db.close();`;
  return new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-config", code],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  });
}

async function toRollbackJournal(path: string): Promise<void> {
  const child = sqliteProcess(path, "db.exec('PRAGMA journal_mode = DELETE');").spawn();
  await child.stdin.close();
  assertEquals((await child.output()).code, 0);
}

async function lockFromOtherProcess(
  path: string,
): Promise<AsyncDisposable & { readonly release: () => Promise<void> }> {
  const child = sqliteProcess(
    path,
    `db.exec("BEGIN IMMEDIATE");
     console.log("locked");
     await Deno.stdin.read(new Uint8Array(1));
     db.exec("ROLLBACK");`,
  ).spawn();
  const reader = child.stdout.getReader();
  await reader.read();
  let released: Promise<void> | null = null;
  async function release(): Promise<void> {
    await child.stdin.close();
    await child.status;
    await reader.cancel();
  }
  const once = () => released ??= release();
  return { release: once, [Symbol.asyncDispose]: once };
}
