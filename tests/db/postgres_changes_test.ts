import { printLogPosition } from "../../src/db/changes/log_position.ts";
import { assert, assertEquals } from "@std/assert";
import { exactNumber } from "../../src/schema/exact_number.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { createRowReader } from "../../src/db/rows.ts";
import { resolveChangesOptions } from "../../src/db/changes/changes_options.ts";
import { openChangeLog } from "../../src/db/changes/open_change_log.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import type { TableInfo } from "../../src/schema/table_info.ts";
import { identifier, join, sql, toStatement } from "../../src/sql/fragment.ts";
import {
  assertChanges,
  changesOf,
  kindsAndRows,
  openLog,
  readOn,
  runtime,
} from "../conformance/change_log_support.ts";
import { handClock } from "./hand_clock.ts";
import { createScratchDatabase, everyEngine } from "../support/engines.ts";
import { run, runScript } from "../support/scratch.ts";
import { testPostgres, testUnless } from "../support/skip.ts";
import type { Database } from "../../src/db/database.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text() });
const server = testPostgres();

function testOnPostgres(name: string, work: (db: Database) => Promise<void>): void {
  for (const engine of everyEngine.filter(({ name }) => name === "postgres" || name === "pglite")) {
    testUnless(engine.ignore ?? null, `${name} (${engine.name})`, async () => {
      const db = await engine.open();
      try {
        await work(db);
      } finally {
        await db.close();
      }
    });
  }
}

testOnPostgres("a TRUNCATE is one change without rows", async (db) => {
  await db.createTables([notes]);
  const log = await openLog(db, [notes]);
  await run(db, "INSERT INTO notes VALUES (1, 'a'), (2, 'b')");
  await assertChanges(log, () => run(db, "TRUNCATE notes"), [["truncate", null, null]]);
  await log.close();
});

testOnPostgres(
  "tables of other schemas, with partitions and with quotes are recorded",
  async (db) => {
    await runScript(
      db.driver,
      `CREATE SCHEMA "o""s";
     CREATE TABLE "o""s"."p'q\\" (id int, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
     CREATE TABLE "o""s".y1 PARTITION OF "o""s"."p'q\\" FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
     CREATE TABLE "o""s".y2 PARTITION OF "o""s"."p'q\\" FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');`,
    );
    const { tables: [odd] } = await db.introspect({ schemas: ['o"s'] });
    assert(odd !== undefined);
    const log = await openLog(db, [odd]);
    const again = await openLog(db, [odd]);
    await assertChanges(log, () =>
      runScript(
        db.driver,
        `INSERT INTO "o""s".y1 VALUES (1, '2024-05-05');
       UPDATE "o""s"."p'q\\" SET id = 2;
       UPDATE "o""s"."p'q\\" SET at = '2025-05-05';`,
      ), [
      ["insert", null, { id: 1, at: "2024-05-05" }],
      ["update", { id: 1, at: "2024-05-05" }, { id: 2, at: "2024-05-05" }],
      // A row that moves between partitions is deleted in one and inserted into the other.
      ["delete", { id: 2, at: "2024-05-05" }, null],
      ["insert", null, { id: 2, at: "2025-05-05" }],
    ]);
    await log.close();
    await again.close();
  },
);

testOnPostgres(
  "a trigger that changes the row again follows the change that it reacts to",
  async (db) => {
    await db.createTables([notes]);
    await runScript(
      db.driver,
      `CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS
       'BEGIN UPDATE notes SET id = NEW.id + 10 WHERE id = NEW.id AND id < 10; RETURN NULL; END';
     CREATE TRIGGER "0 early" AFTER UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION again();`,
    );
    const log = await openLog(db, [notes]);
    await run(db, "INSERT INTO notes VALUES (1, 'a')");
    await assertChanges(log, () => run(db, "UPDATE notes SET title = 'b'"), [
      ["update", { id: 1, title: "a" }, { id: 1, title: "b" }],
      ["update", { id: 1, title: "b" }, { id: 11, title: "b" }],
    ]);
    await log.close();
  },
);

/** A column of each type that is served in a way of its own, and values at its edges. */
const foreign: readonly (readonly [type: string, values: readonly string[]])[] = [
  ["int2", ["1", "-32768"]],
  ["int8", ["9223372036854775807", "-9007199254740993"]],
  ["float4", ["0.1", "'NaN'", "1e-40", "-0.0"]],
  ["float8", ["0.1", "1e300", "5e-324", "1e22", "'Infinity'", "0.30000000000000004"]],
  ["numeric", ["9.50", "1e-20", "123456789012345678901234567890.123", "'NaN'", "1e30"]],
  ["numeric(10,2)", ["9.50", "0"]],
  ["bool", ["true", "false"]],
  ["text", ["''", "'é👍\u2028'", "E'\\\\\"\\n'", "'null'", "'{}'"]],
  ["varchar(9)", ["'a  '"]],
  ["char(5)", ["'a'", "''", "' a'"]],
  ['"char"', ["'x'"]],
  ["name", ["'n'"]],
  ["mood", ["'so so'"]],
  ["date", ["'2024-02-29'", "'infinity'", "'0044-03-15 BC'", "'12024-01-01'"]],
  ["timestamp", ["'2024-01-01 00:00:00.123456'", "'0044-03-15 00:00:00 BC'", "'-infinity'"]],
  ["timestamptz", ["'2024-01-01 00:00:00.1+02'", "'1890-01-01'", "'infinity'", "'0044-03-15 BC'"]],
  ["time", ["'12:00:00.5'"]],
  ["timetz", ["'12:00:00+05:30'"]],
  ["interval", ["'1 year 2 days 03:04:05.678'", "'-1 hour'"]],
  ["uuid", ["'550E8400-e29b-41d4-a716-446655440000'"]],
  ["json", [`'{"b":1, "a":"\\u0001", "b":2.50}'`, "'null'", "'\"x\"'", "' 5 '", "'[1e999999]'"]],
  ["jsonb", [`'{"b":12345678901234567890, "a":[1.0]}'`, "'null'"]],
  ["bytea", ["'\\x00ff'", "''"]],
  ["inet", ["'10.0.0.1/8'"]],
  ["oid", ["4294967295"]],
  ["text[]", [`'{a,"b c",NULL,"NULL","\\""}'`, "'{}'", "'{{a,b},{c,d}}'"]],
  ["timestamptz[]", ["'{2024-01-01 00:00:00+02}'"]],
  ["mood[]", ["'{so so}'"]],
  ["pair", [`'(1,"x, y")'`, "'(,)'"]],
  ["tstzrange", ["'[2024-01-02 00:00:00+01,2024-02-03)'"]],
  ["money", ["1.5"]],
  ["xml", ["'<a>1</a>'"]],
  ["point", ["'(1,2)'"]],
  ["bit(3)", ["B'101'"]],
  ["positive", ["7"]],
  ["words", ["'{a}'"]],
];

const preparation = `CREATE TYPE mood AS ENUM ('so so');
  CREATE TYPE pair AS (a int, b text);
  CREATE DOMAIN positive AS int CHECK (VALUE > 0);
  CREATE DOMAIN words AS text[];`;

testOnPostgres("an image reads as a list would, whatever the types", async (db) => {
  // The library in the process is built without xml.
  const types = foreign.filter(([type]) => type !== "xml" || db.label.includes("//"));
  await runScript(db.driver, preparation);
  const columns = types.map(([type], index) => `c${index} ${type}`).join(", ");
  await run(db, `CREATE TABLE odd (id int PRIMARY KEY, ${columns})`);
  const { tables: [odd] } = await db.introspect();
  assert(odd !== undefined);
  const log = await openLog(db, [odd]);
  const most = Math.max(...types.map(([, values]) => values.length));
  for (let turn = 0; turn <= most; turn++) {
    const values = types.map(([, values]) => values[turn % values.length] ?? "NULL");
    const cells = turn === most ? types.map(() => "NULL") : values;
    let listed: unknown;
    const changes = await changesOf(log, async () => {
      await run(db, `INSERT INTO odd VALUES (${turn}, ${cells.join(", ")})`);
      [listed] = await list(db, odd);
      await run(db, "DELETE FROM odd");
    });
    assertEquals(kindsAndRows(changes), [["insert", null, listed], ["delete", listed, null]]);
  }
  await log.close();
});

testOnPostgres("a document that jsonb would refuse makes no write fail", async (db) => {
  await run(db, "CREATE TABLE odd (id int PRIMARY KEY, doc json)");
  const { tables: [odd] } = await db.introspect();
  assert(odd !== undefined);
  const log = await openLog(db, [odd]);
  await assertChanges(
    log,
    () => run(db, `INSERT INTO odd VALUES (1, '{"b":"\\u0000", "a":1e999999}')`),
    [["insert", null, { id: 1, doc: { b: "\0", a: exactNumber("1e999999") } }]],
  );
  await log.close();
});

testOnPostgres("a session with other settings writes the same images", async (db) => {
  await runScript(db.driver, preparation);
  const columns = `at timestamptz, plain timestamp, span tstzrange, took interval, file bytea,
    exact float8, small float4, days date[]`;
  await run(db, `CREATE TABLE odd (id int PRIMARY KEY, ${columns})`);
  const { tables: [odd] } = await db.introspect();
  assert(odd !== undefined);
  const log = await openLog(db, [odd]);
  const insert = `INSERT INTO odd VALUES (1, '1890-01-01 12:00Z', '2024-02-01 01:02:03.4',
    '[2024-02-01 00:00Z,2024-03-04 00:00Z)', '1 year 2 days 03:04:05', '\\x00ff',
    0.30000000000000004, 0.1, '{2024-02-01}')`;
  const changes = await changesOf(log, () =>
    db.driver.transaction((connection) =>
      runScript(
        connection,
        `SET LOCAL TIME ZONE 'Europe/Berlin';
         SET LOCAL DateStyle = 'SQL, DMY';
         SET LOCAL IntervalStyle = 'iso_8601';
         SET LOCAL bytea_output = 'escape';
         SET LOCAL extra_float_digits = -5;
         ${insert};
         UPDATE odd SET id = 2;
         DELETE FROM odd;`,
      )
    ));
  await run(db, insert);
  const [one] = await list(db, odd);
  const two = { ...Object(one), id: 2 };
  assertEquals(kindsAndRows(changes), [["insert", null, one], ["update", one, two], [
    "delete",
    two,
    null,
  ]]);
  await log.close();
});

testOnPostgres("an old image that its type no longer accepts is shown all the same", async (db) => {
  await runScript(
    db.driver,
    `CREATE TYPE mood AS ENUM ('fine', 'well');
     CREATE TABLE odd (id int PRIMARY KEY, moods mood[]);`,
  );
  const { tables: [odd] } = await db.introspect();
  assert(odd !== undefined);
  const log = await openLog(db, [odd]);
  const changes = await changesOf(log, () =>
    runScript(
      db.driver,
      `INSERT INTO odd VALUES (1, '{fine}');
       ALTER TYPE mood RENAME VALUE 'fine' TO 'good';`,
    ));
  assertEquals(kindsAndRows(changes), [["insert", null, { id: 1, moods: ["fine"] }]]);
  await log.close();
});

testOnPostgres("a role that may write the table needs no rights on the log", async (db) => {
  await db.createTables([notes]);
  const log = await openLog(db, [notes], { exclude: [notes.title] });
  const role = `writer_${crypto.randomUUID().replaceAll("-", "")}`;
  await runScript(db.driver, `CREATE ROLE ${role};\nGRANT ALL ON notes TO ${role};`);
  await assertChanges(log, () =>
    db.driver.transaction((connection) =>
      runScript(
        connection,
        `SET LOCAL ROLE ${role};
         SET LOCAL search_path = pg_temp;
         INSERT INTO public.notes VALUES (1, 'a');
         SET LOCAL TIME ZONE 'Europe/Berlin';
         DELETE FROM public.notes;`,
      )
    ), [["insert", null, { id: 1 }], ["delete", { id: 1 }, null]]);
  await runScript(db.driver, `REVOKE ALL ON notes FROM ${role};\nDROP ROLE ${role};`);
  await log.close();
});

testOnPostgres("a copy of the database has another epoch", async (db) => {
  await db.createTables([notes]);
  const log = await openLog(db, [notes]);
  await run(db, "INSERT INTO notes VALUES (1, 'a')");
  const token = printLogPosition(await log.end());
  await log.close();
  // As in the tables of a copy.
  await run(db, "UPDATE _service_meta SET value = 'elsewhere' WHERE name = 'cluster'");
  const copy = await openLog(db, [notes]);
  assertEquals(copy.parse(token), null);
  assertEquals((await run(db, "SELECT seq FROM _service_changes")).rows, []);
  await copy.close();
});

testUnless(
  "missing" in server ? server.missing : null,
  "nothing is forgotten while an older transaction is open, so that no reader loses history for it (postgres)",
  async () => {
    if ("missing" in server) return;
    const scratch = await createScratchDatabase(server.url);
    const db = await openDatabase(scratch.url);
    const other = await openDatabase(scratch.url);
    await db.createTables([notes]);
    const log = await openLog(db, [notes]);
    let release = () => {};
    const held = new Promise<void>((resolve) => release = resolve);
    const begun = Promise.withResolvers<void>();
    const transaction = other.driver.transaction(async (connection) => {
      await connection.query({ text: "INSERT INTO notes VALUES (1, 'early')", values: [] });
      begun.resolve();
      await held;
    });
    await begun.promise;
    await run(db, "INSERT INTO notes VALUES (2, 'late')");
    const { changes, to } = await readOn(log, await log.end());
    assertEquals(changes, []);
    await run(db, "UPDATE _service_changes SET at = at - interval '2 hours'");
    await log.purge();
    assertEquals((await log.next(to))?.changes, []);
    release();
    await transaction;
    assertEquals(kindsAndRows((await readOn(log, to)).changes), [
      ["insert", null, { id: 1, title: "early" }],
    ]);
    await log.purge();
    assertEquals((await run(db, "SELECT count(*) FROM _service_changes")).rows, [["1"]]);
    await log.close();
    await Promise.all([db.close(), other.close()]);
    await scratch.drop();
  },
);

testUnless(
  "missing" in server ? server.missing : null,
  "signals come without polling, and again after the listening connection was lost (postgres)",
  async () => {
    if ("missing" in server) return;
    const scratch = await createScratchDatabase(server.url);
    const { clock, advance } = handClock();
    // Its clock stands still: nothing is polled.
    const db = await openDatabase(scratch.url, { clock });
    const other = await openDatabase(scratch.url);
    await db.createTables([notes]);
    const changes = resolveChangesOptions();
    const tables = [tableInfoOf(notes)];
    const log = await openChangeLog({
      driver: db.driver,
      tables,
      changes,
      runtime: { ...runtime, clock },
    });
    const otherLog = await openLog(other, [notes]);
    let hinted = Promise.withResolvers<void>();
    log.onHint(() => hinted.resolve());
    let id = 0;
    const isToldOf = async (work: () => Promise<unknown>) => {
      // No signal from before is pending.
      for (let quiet = 0; quiet < 3; quiet++) await run(other, "SELECT pg_sleep(0.02)");
      let isTold = false;
      hinted = Promise.withResolvers();
      hinted.promise.then(() => isTold = true);
      // A process that has just begun to listen may not have noticed it yet, and sends nothing.
      while (!isTold) {
        await work();
        await Promise.race([hinted.promise, run(other, "SELECT pg_sleep(0.2)")]);
      }
    };
    const write = () => run(other, `INSERT INTO notes VALUES (${++id}, 'a')`);
    const listeners = `SELECT pid FROM pg_stat_activity WHERE datname = current_database()
      AND pid <> pg_backend_pid() AND (query LIKE '%pg_locks%' OR query LIKE '%pg_notify(''service_changes''%')`;
    const listening = async () => (await run(other, listeners)).rows.length;
    // A signal is lost before there is a listener, and only polling would show the change.
    while (await listening() < 2) await run(other, "SELECT pg_sleep(0.01)");
    await isToldOf(write);
    await isToldOf(write);
    const { rows: lost } = await run(other, listeners);
    const pids = lost.flat().join();
    await run(other, `SELECT pg_terminate_backend(pid) FROM unnest(ARRAY[${pids}]) AS pid`);
    // A backend ends some time after it is terminated, and would count as a new one.
    const ending = `SELECT FROM pg_stat_activity WHERE pid IN (${pids})`;
    while ((await run(other, ending)).rows.length > 0) await run(other, "SELECT pg_sleep(0.01)");
    // Both listen again after a second, each by its own clock.
    for (advance(1_000); await listening() < 2; advance(1_000)) {
      await run(other, "SELECT pg_sleep(0.05)");
    }
    await isToldOf(write);
    await log.close();
    await otherLog.close();
    await Promise.all([db.close(), other.close()]);
    await scratch.drop();
  },
);

async function list(db: Database, table: TableInfo): Promise<readonly unknown[]> {
  const names = table.columns.map((column) => db.dialect.selected(column));
  const query = sql`SELECT ${join(names, ", ")} FROM ${identifier(table.name)}`;
  const { rows } = await db.driver.query(toStatement(query, db.dialect.placeholder));
  return createRowReader(db.dialect, () => {}).toRows(rows, table.columns);
}
