import {
  coversChange,
  coversPosition,
  printLogPosition,
} from "../../src/db/changes/log_position.ts";
import { setImmediate } from "node:timers";
import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { logPositionBefore, recordOptimisticIds } from "../../src/db/changes/logged_change.ts";
import { createRowReader, fetchRows } from "../../src/db/rows.ts";
import { keyId } from "../../src/plan/key.ts";
import { allRows } from "../../src/filter/filter.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { kinds } from "../../src/schema/kind_of.ts";
import type { ColumnInfo } from "../../src/schema/table_info.ts";
import { edgeValues, things } from "../invariants/filter_worlds.ts";
import type { Engine } from "../support/engines.ts";
import { gate, run, runScript, statement } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { assertChanges, changesOf, kindsAndRows, openLog, readOn } from "./change_log_support.ts";
import type { Database } from "../../src/db/database.ts";

/** What an engine lacks, each with its reason. */
export interface ChangeLogLacks {
  /** A read waits while a transaction is open. */
  readonly readsBesideTransaction?: string;
}

const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().as("the_title"),
  secret: text(),
});
const parents = table("parents", { id: integer().primaryKey(), name: text() });

const one = { id: 1, title: "a", secret: null };
const two = { id: 2, title: "b", secret: null };
const insertTwo = `INSERT INTO notes (id, the_title) VALUES (1, 'a'), (2, 'b')`;

/** What every log promises, as tests over one engine. */
export function exercise(engine: Engine, lacks: ChangeLogLacks = {}): void {
  function test(promise: string, work: (db: Database) => Promise<void>, lack?: string): void {
    testUnless(engine.ignore ?? lack ?? null, `${engine.name} changes: ${promise}`, async () => {
      const db = await engine.open();
      try {
        await db.createTables([notes, parents]);
        await work(db);
      } finally {
        await db.close();
      }
    });
  }

  test("a raw statement over many rows gives one change for each", manyRows);
  test("an upsert is an insert or an update, whichever it was", upserts);
  test("a cascade is seen row by row", cascades);
  test("a changed key is one update with both keys", async (db) => {
    const log = await openLog(db, [notes]);
    await run(db, insertTwo);
    await assertChanges(log, () => run(db, "UPDATE notes SET id = 9 WHERE id = 1"), [
      ["update", one, { ...one, id: 9 }],
    ]);
    await log.close();
  });
  test("a rollback leaves nothing, nor does a failed statement", rollbacks);
  test("a transaction is seen whole, in its order", transactions);
  test("a large step comes in parts, all of one target", largeSteps);
  test("large rows come a few at a time", largeRows);
  test("no change is seen before its commit", beforeCommit, lacks.readsBesideTransaction);
  test("a read knows its position, with and without rows", readsKnowPositions);
  test("a token is parsed by another log of the database, and nothing else is", tokens);
  test("a token of another epoch, or from the future, is lost", lostTokens);
  test("a log that was wiped begins a new epoch", wiped);
  test("purged changes are lost for readers before them, and for no others", purges);
  test("excluded columns are in no image", excluded);
  test(
    "a new column is recorded from the next start on, and what was recorded without it is a touch",
    drift,
  );
  test("opening it again, and twice at once, changes nothing", opensAgain);
  test("it hints at commits, until the listener is removed", hints);
  test("the client's name of a new row is in its change", names);
  test("an image reads as a list, whatever the kinds and values", everyKind);
  test("missing tables are named", async (db) => {
    const missing = table("missing", { id: integer().primaryKey() });
    await assertRejects(() => openLog(db, [missing]), Error, `changes of "missing"`);
  });
  test("changes of tables that only other logs have are skipped", async (db) => {
    const log = await openLog(db, [notes]);
    const other = await openLog(db, [notes, parents]);
    const work = () => run(db, "INSERT INTO parents (id, name) VALUES (1, 'p')");
    const from = await other.end();
    await assertChanges(log, work, []);
    const { changes } = await readOn(other, from);
    assertEquals(kindsAndRows(changes), [["insert", null, { id: 1, name: "p" }]]);
    assert(changes.every(({ table }) => table === tableInfoOf(parents)));
    await log.close();
    await other.close();
  });
}

async function manyRows(db: Database): Promise<void> {
  const log = await openLog(db, [notes]);
  await assertChanges(log, () => run(db, insertTwo), [["insert", null, one], [
    "insert",
    null,
    two,
  ]]);
  const changed = { title: "c" };
  await assertChanges(log, () => run(db, "UPDATE notes SET the_title = 'c'"), [
    ["update", one, { ...one, ...changed }],
    ["update", two, { ...two, ...changed }],
  ]);
  await assertChanges(log, () => run(db, "DELETE FROM notes"), [
    ["delete", { ...one, ...changed }, null],
    ["delete", { ...two, ...changed }, null],
  ]);
  await log.close();
}

async function upserts(db: Database): Promise<void> {
  const log = await openLog(db, [notes]);
  const upsert = `INSERT INTO notes (id, the_title) VALUES (1, 'a'), (2, 'b')
    ON CONFLICT (id) DO UPDATE SET the_title = 'c'`;
  await run(db, "INSERT INTO notes (id, the_title) VALUES (1, 'a')");
  await assertChanges(log, () => run(db, upsert), [
    ["update", one, { ...one, title: "c" }],
    ["insert", null, two],
  ]);
  await log.close();
}

async function cascades(db: Database): Promise<void> {
  await run(
    db,
    `CREATE TABLE kids (id INTEGER PRIMARY KEY,
       parent INTEGER REFERENCES parents (id) ON DELETE CASCADE)`,
  );
  const kids = table("kids", { id: integer().primaryKey(), parent: integer() });
  const log = await openLog(db, [parents, kids]);
  await runScript(
    db.driver,
    `INSERT INTO parents (id) VALUES (1);
     INSERT INTO kids VALUES (10, 1), (11, 1);`,
  );
  const changes = await changesOf(log, () => run(db, "DELETE FROM parents"));
  const seen = changes.map(({ kind, table, before }) => `${kind} ${table.name} ${before?.id}`);
  assertEquals(seen.sort(), ["delete kids 10", "delete kids 11", "delete parents 1"]);
  await log.close();
}

async function rollbacks(db: Database): Promise<void> {
  const log = await openLog(db, [notes]);
  await assertChanges(log, async () => {
    await assertRejects(() =>
      db.driver.transaction(async (connection) => {
        await connection.query({ text: insertTwo, values: [] });
        throw new Error("no");
      })
    );
    await run(db, insertTwo);
    // The second row clashes, and takes the first with it.
    await assertRejects(() => run(db, "INSERT INTO notes (id) VALUES (3), (1)"));
    await db.driver.transaction(async (connection) => {
      await runScript(
        connection,
        `SAVEPOINT s;
         DELETE FROM notes;
         ROLLBACK TO SAVEPOINT s;
         UPDATE notes SET the_title = 'c' WHERE id = 1;`,
      );
    });
  }, [["insert", null, one], ["insert", null, two], ["update", one, { ...one, title: "c" }]]);
  await log.close();
}

async function transactions(db: Database): Promise<void> {
  const log = await openLog(db, [notes, parents]);
  const from = await log.end();
  await db.driver.transaction((connection) =>
    runScript(
      connection,
      `INSERT INTO notes (id) VALUES (1);
       INSERT INTO parents (id) VALUES (7);
       UPDATE notes SET id = 2;
       DELETE FROM parents;`,
    )
  );
  const step = await log.next(from);
  assertEquals(
    step?.changes.map(({ kind, table }) => `${kind} ${table.name}`),
    ["insert notes", "insert parents", "update notes", "delete parents"],
  );
  const seqs = step?.changes.map(({ seq }) => seq) ?? [];
  assertEquals(seqs, seqs.toSorted((left, right) => left - right));
  assert(step?.to !== null && step !== null);
  assert(step.changes.every((change) => coversChange(step.to ?? from, change)));
  assert(step.changes.every((change) => !coversChange(from, change)));
  assert(coversPosition(step.to, from) && !coversPosition(from, step.to));
  await log.close();
}

async function largeSteps(db: Database): Promise<void> {
  const log = await openLog(db, [notes]);
  const from = await log.end();
  const many = Array.from({ length: 2_500 }, (_, id) => `(${id})`).join();
  await run(db, `INSERT INTO notes (id) VALUES ${many}`);
  let step = await log.next(from);
  const first = step;
  // Written while the step is read: no part of it, and not lost either.
  await run(db, "INSERT INTO notes (id) VALUES (9999)");
  const seen: unknown[] = [];
  for (; step !== null; step = await log.next(step.to === null ? step : step.to)) {
    if (step.changes.length === 0) break;
    seen.push(...step.changes.map(({ after }) => after?.id));
  }
  assert((first?.changes.length ?? 0) < 2_500);
  assertEquals(seen, [...Array(2_500).keys(), 9999]);
  await log.close();
}

async function largeRows(db: Database): Promise<void> {
  const log = await openLog(db, [notes]);
  const from = await log.end();
  const large = "x".repeat(3_000_000);
  await db.driver.transaction(async (connection) => {
    for (let id = 0; id < 12; id++) {
      const text = "INSERT INTO notes (id, the_title) VALUES (?, ?)";
      await connection.query(statement(db.dialect, text, id, large));
    }
  });
  const first = await log.next(from);
  assert(first !== null && first.changes.length > 0 && first.changes.length < 12);
  const { changes } = await readOn(log, from);
  assertEquals(changes.map(({ after }) => after?.id), [...Array(12).keys()]);
  await log.close();
}

async function beforeCommit(db: Database): Promise<void> {
  const log = await openLog(db, [notes]);
  const from = await log.end();
  const [inside, end] = [gate(), gate()];
  const transaction = db.driver.transaction(async (connection) => {
    await connection.query({ text: insertTwo, values: [] });
    inside.open();
    await end.passed;
  });
  await inside.passed;
  const step = await log.next(from);
  assertEquals(step?.changes, []);
  assertEquals((await log.readAt({ text: "SELECT id FROM notes", values: [] })).rows, []);
  end.open();
  await transaction;
  assertEquals((await readOn(log, step?.to ?? from)).changes.length, 2);
  await log.close();
}

async function readsKnowPositions(db: Database): Promise<void> {
  const log = await openLog(db, [notes]);
  const read = statement(
    db.dialect,
    "SELECT id, the_title, the_title FROM notes WHERE id >= ? ORDER BY id DESC LIMIT 10",
    1,
  );
  const empty = await log.readAt(read);
  assertEquals(empty.rows, []);
  await run(db, insertTwo);
  const full = await log.readAt(read);
  assertEquals(full.rows.map(([id, ...rest]) => [Number(id), ...rest]), [
    [2, "b", "b"],
    [1, "a", "a"],
  ]);
  const { changes } = await readOn(log, empty.position);
  assertEquals(changes.length, 2);
  assert(changes.every((change) => coversChange(full.position, change)));
  assertEquals((await readOn(log, full.position)).changes, []);
  await log.close();
}

async function tokens(db: Database): Promise<void> {
  const log = await openLog(db, [notes]);
  const another = await openLog(db, [notes]);
  await run(db, insertTwo);
  const end = await log.end();
  const token = printLogPosition(end);
  assertEquals(another.parse(token), end);
  const [kind, epoch, ...rest] = token.split(".");
  const wrong = [
    ...[
      "",
      "s",
      "p",
      ".",
      "s..",
      "p...",
      "null",
      `${token}.`,
      `${token} `,
      ` ${token}`,
      `.${token}`,
    ],
    ...[`${token}.x.y`, token.toUpperCase(), token.replace(/\.(?=[^.]*$)/, ".0"), `${token}-`],
    [kind, epoch, ...rest.map(() => "-1")].join("."),
    [kind, epoch, ...rest.map(() => "9".repeat(40))].join("."),
    [kind, epoch?.replace(/^./, (digit) => digit === "0" ? "1" : "0"), ...rest].join("."),
    ["x", epoch, ...rest].join("."),
    "s." + "0".repeat(16) + ".1e3",
    `${token}\n`,
    "a".repeat(10_000),
  ];
  for (const text of wrong) assertEquals(log.parse(text), null, text);
  await log.close();
  await another.close();
}

async function lostTokens(db: Database): Promise<void> {
  const log = await openLog(db, [notes]);
  await run(db, insertTwo);
  const end = await log.end();
  assertEquals(await log.next({ ...end, epoch: "0".repeat(16) }), null);
  const ahead = end.kind === "sequence"
    ? { ...end, seq: end.seq + 1 }
    : { ...end, xmax: end.xmax + 1_000n };
  assert(await log.next(end) !== null);
  assertEquals(await log.next(ahead), null);
  await log.close();
}

async function wiped(db: Database): Promise<void> {
  const log = await openLog(db, [notes]);
  await run(db, insertTwo);
  const before = await log.end();
  await log.close();
  const cascade = db.dialect.engine === "postgres" ? " CASCADE" : "";
  await run(db, `DROP TABLE _service_changes${cascade}`);
  const fresh = await openLog(db, [notes]);
  assertEquals(fresh.parse(printLogPosition(before)), null);
  assertEquals(await fresh.next(before), null);
  await assertChanges(fresh, () => run(db, "DELETE FROM notes WHERE id = 1"), [
    ["delete", one, null],
  ]);
  await fresh.close();
}

async function purges(db: Database): Promise<void> {
  const log = await openLog(db, [notes]);
  const start = await log.end();
  await run(db, insertTwo);
  const middle = await log.end();
  await log.purge();
  assertEquals((await readOn(log, start)).changes.length, 2, "nothing is old yet");
  await run(
    db,
    db.dialect.engine === "postgres"
      ? "UPDATE _service_changes SET at = at - interval '2 hours'"
      : "UPDATE _service_changes SET at = at - 7200",
  );
  await run(db, "DELETE FROM notes WHERE id = 1");
  await log.purge();
  assertEquals(await log.next(start), null);
  assertEquals(kindsAndRows((await readOn(log, middle)).changes), [["delete", one, null]]);
  const { rows } = await run(db, "SELECT count(*) FROM _service_changes");
  assertEquals(Number(rows[0]?.[0]), 1);
  await log.close();
}

async function excluded(db: Database): Promise<void> {
  const log = await openLog(db, [notes], { exclude: [notes.secret] });
  await run(db, "INSERT INTO notes VALUES (1, 'a', 'xyzzy-x')");
  await assertChanges(log, () => run(db, "UPDATE notes SET secret = 'xyzzy-y'"), [
    ["update", { id: 1, title: "a" }, { id: 1, title: "a" }],
  ]);
  const { rows } = await run(db, "SELECT before, after FROM _service_changes");
  assertEquals(rows.filter((row) => row.join().includes("xyzzy-")), []);
  await log.close();
  const all = await openLog(db, [notes]);
  await assertChanges(all, () => run(db, "DELETE FROM notes"), [
    ["delete", { id: 1, title: "a", secret: "xyzzy-y" }, null],
  ]);
  await all.close();
}

async function drift(db: Database): Promise<void> {
  const log = await openLog(db, [notes]);
  await run(db, insertTwo);
  const from = await log.end();
  await run(db, "UPDATE notes SET the_title = 'c' WHERE id = 1");
  await log.close();
  await run(db, "ALTER TABLE notes ADD COLUMN mood TEXT");
  const moody = table("notes", {
    id: integer().primaryKey(),
    title: text().as("the_title"),
    mood: text(),
  });
  const fresh = await openLog(db, [moody]);
  await run(db, "UPDATE notes SET mood = 'good' WHERE id = 1");
  const was = { id: 1, title: "c", mood: null };
  const { changes } = await readOn(fresh, from);
  assertEquals(kindsAndRows(changes.slice(-1)), [["update", was, { ...was, mood: "good" }]]);
  assertEquals(new Set(changes.slice(0, -1).map(({ kind }) => kind)), new Set(["touch"]));
  await fresh.close();
}

async function opensAgain(db: Database): Promise<void> {
  const logs = await Promise.all([openLog(db, [notes]), openLog(db, [notes])]);
  const { rows: before } = await run(db, triggerNames(db));
  logs.push(await openLog(db, [notes]));
  assertEquals((await run(db, triggerNames(db))).rows, before);
  const [log] = logs;
  assert(log !== undefined);
  await assertChanges(log, () => run(db, insertTwo), [["insert", null, one], [
    "insert",
    null,
    two,
  ]]);
  await Promise.all(logs.map((log) => log.close()));
}

function triggerNames({ dialect }: Database): string {
  return dialect.engine === "postgres"
    ? "SELECT oid, tgname FROM pg_trigger ORDER BY oid"
    : "SELECT rowid, name FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid";
}

async function hints(db: Database): Promise<void> {
  const log = await openLog(db, [notes]);
  let looks = 0;
  const stop = log.onHint(() => void looks++);
  await run(db, insertTwo);
  await new Promise<void>((resolve) => setImmediate(resolve));
  assert(looks >= 1);
  const single = looks;
  await db.driver.transaction((connection) =>
    runScript(connection, "DELETE FROM notes;\nINSERT INTO notes (id) VALUES (5);")
  );
  assert(looks > single);
  stop();
  const last = looks;
  await run(db, "DELETE FROM notes");
  assertEquals(looks, last);
  await log.close();
}

async function names(db: Database): Promise<void> {
  const log = await openLog(db, [notes]);
  const reader = createRowReader(db.dialect, () => {});
  const info = tableInfoOf(notes);
  const changes = await changesOf(log, () =>
    db.driver.transaction(async (connection) => {
      const since = await logPositionBefore(connection, reader);
      await connection.query({ text: insertTwo, values: [] });
      const ids = new Map([[keyId([1], info), "mine"], [keyId([77], info), "unused"]]);
      const recorded = await recordOptimisticIds(connection, { table: info, ids, since }, reader);
      assertEquals([...recorded.values()], ["mine"]);
    }));
  assertEquals(changes.map(({ optimisticId }) => optimisticId), ["mine", null]);
  await log.close();
}

async function everyKind(db: Database): Promise<void> {
  const info = tableInfoOf(things);
  await db.createTables([things]);
  const log = await openLog(db, [things]);
  const reader = createRowReader(db.dialect, () => {});
  const cells = info.columns.map((column) =>
    column.primaryKey
      ? fc.integer({ min: 1, max: 9 }).map((id) => [column, id] as const)
      : fc.constantFrom(null, ...edgeValues[column.kind]).map((value) =>
        [column, value === null ? null : kinds[column.kind].fromJson(value, column)] as const
      )
  );
  const list = async () => {
    const read = { kind: "read" as const, table: info, columns: info.columns, where: allRows };
    return (await fetchRows(db.driver, { ...read, order: [], after: null, limit: 1 }, reader)).rows;
  };
  await fc.assert(
    fc.asyncProperty(fc.tuple(...cells), fc.tuple(...cells), async (first, second) => {
      let listed: readonly unknown[] = [];
      const changes = await changesOf(log, async () => {
        const { columns } = info;
        const rows = [new Map<ColumnInfo, unknown>(first)];
        const insert = { kind: "insert" as const, table: info, columns, rows, returning: [] };
        await db.driver.query(reader.compile(insert));
        const [one] = await list();
        const set = new Map<ColumnInfo, unknown>(second);
        const update = { kind: "update" as const, table: info, set, where: allRows, returning: [] };
        await db.driver.query(reader.compile(update));
        const [two] = await list();
        await run(db, "DELETE FROM things");
        listed = [one, two];
      });
      const [one, two] = listed;
      assertEquals(kindsAndRows(changes), [
        ...[["insert", null, one], ["update", one, two]],
        ["delete", two, null],
      ]);
    }),
    { numRuns: 60 },
  );
  await log.close();
}
