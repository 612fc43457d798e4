import { assert, assertEquals } from "@std/assert";
import type { Change, ChangeLog, ChangeLogStep } from "../../src/db/changes/change_log.ts";
import {
  coversChange,
  coversPosition,
  type Position,
  printLogPosition,
} from "../../src/db/changes/log_position.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { integer } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { openLog } from "../conformance/change_log_support.ts";
import { createScratchDatabase } from "../support/engines.ts";
import { run } from "../support/scratch.ts";
import { testPostgres, testUnless } from "../support/skip.ts";
import type { Database } from "../../src/db/database.ts";

const counters = table("counters", { id: integer().primaryKey(), n: integer().notNull() });
const hotRows = 20;
const writers = 8;
const readers = 3;
const maxTransactions = 1_000;

/** What a reader has seen: the row and its number, which grows by one with each change. */
type Heard = readonly (readonly [id: number, n: number])[];

interface Verdict {
  readonly missed: number;
  readonly twice: number;
  readonly disordered: number;
}

const server = testPostgres();

testUnless(
  "missing" in server ? server.missing : null,
  "postgres: nothing is missed, repeated or out of its row's order, and the checker would see it",
  async () => {
    if ("missing" in server) return;
    const scratch = await createScratchDatabase(server.url);
    const db = await openDatabase(scratch.url, {});
    const readingDbs = await Promise.all(
      Array.from({ length: readers + 1 }, () => openDatabase(scratch.url)),
    );
    await db.createTables([counters]);
    const rows = Array.from({ length: hotRows }, (_, id) => `(${id}, 0)`).join();
    await run(db, `INSERT INTO counters VALUES ${rows}`);
    const logs = await Promise.all(
      readingDbs.slice(0, readers).map((db) => openLog(db, [counters])),
    );
    const starts = await Promise.all(logs.map((log) => log.end()));
    const naiveStart = await lastNumber(readingDbs[readers] ?? db);
    let isOver = false;
    const reading = logs.map((log, index) => follow(log, starts[index], () => isOver));
    const naive = followNumbers(readingDbs[readers] ?? db, naiveStart, () => isOver);
    // So many that the naive reader misses some, however fast the machine is.
    let transactions = 0;
    await Promise.all(
      Array.from({ length: writers }, () => write(db, () => transactions++ >= maxTransactions)),
    );
    isOver = true;
    const { rows: ends } = await run(db, "SELECT id, n FROM counters");
    const expected = new Map(ends.map(([id, n]) => [Number(id), Number(n)]));
    for (const heard of await Promise.all(reading)) {
      assertEquals(check(heard, expected), { missed: 0, twice: 0, disordered: 0 });
    }
    // The usual first reader, and wrong: numbers are not in the order of commits.
    assert(check(await naive, expected).missed > 0, "the checker did not catch the naive reader");
    await Promise.all(logs.map((log) => log.close()));
    await Promise.all([db, ...readingDbs].map((db) => db.close()));
    await scratch.drop();
  },
);

/** Changes hot rows in transactions that begin early, pause, and are sometimes rolled back. */
async function write(db: Database, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const ids = [random(hotRows), random(hotRows)].sort((left, right) => left - right);
    const isUndone = random(5) === 0;
    await db.driver.transaction(async (connection) => {
      // A transaction has its number from its first write, which may be of something else.
      if (random(2) === 0) await connection.query(plain("SELECT pg_current_xact_id()"));
      if (random(3) === 0) await connection.query(plain(`SELECT pg_sleep(${random(8) / 1000})`));
      for (const id of new Set(ids)) {
        await connection.query(plain(`UPDATE counters SET n = n + 1 WHERE id = ${id}`));
        if (random(4) === 0) await connection.query(plain(`SELECT pg_sleep(${random(4) / 1000})`));
      }
      if (isUndone) throw undone;
    }).catch((error) => {
      if (error !== undone) throw error;
    });
  }
}

const undone = new Error("rolled back on purpose");

async function follow(
  log: ChangeLog,
  start: Position | undefined,
  isOver: () => boolean,
): Promise<Heard> {
  assert(start !== undefined);
  const heard: [number, number][] = [];
  let at: Position | ChangeLogStep = start;
  let position: Position = start;
  for (let last = false;;) {
    const step: ChangeLogStep | null = await log.next(at);
    assert(step !== null, "history is lost");
    heard.push(...step.changes.map(counted));
    if (step.to !== null) {
      assert(coversPosition(step.to, position), "positions go back");
      assert(step.changes.every((change) => !coversChange(position, change)));
      // Another process continues from the token.
      position = log.parse(printLogPosition(step.to)) ?? position;
      if (last) return heard;
      last = isOver();
    }
    at = step.to === null ? step : position;
  }
}

function counted({ after }: Change): [number, number] {
  return [Number(after?.id), Number(after?.n)];
}

async function followNumbers(
  db: Database,
  start: number,
  isOver: () => boolean,
): Promise<Heard> {
  const heard: [number, number][] = [];
  const name = tableInfoOf(counters).name;
  for (let seq = start, last = false;;) {
    const { rows } = await run(
      db,
      `SELECT seq, after->>'id', after->>'n' FROM _service_changes
       WHERE seq > ${seq} AND "table" LIKE '%${name}%' ORDER BY seq`,
    );
    heard.push(...rows.map(([, id, n]): [number, number] => [Number(id), Number(n)]));
    seq = Number(rows.at(-1)?.[0] ?? seq);
    if (last) return heard;
    last = isOver();
  }
}

async function lastNumber(db: Database): Promise<number> {
  const { rows } = await run(db, "SELECT coalesce(max(seq), 0) FROM _service_changes");
  return Number(rows[0]?.[0]);
}

function check(heard: Heard, expected: ReadonlyMap<number, number>): Verdict {
  const seen = new Map<number, Set<number>>();
  const last = new Map<number, number>();
  let twice = 0;
  let disordered = 0;
  for (const [id, n] of heard) {
    const of = seen.get(id) ?? new Set();
    seen.set(id, of);
    if (of.has(n)) twice++;
    of.add(n);
    if (n < (last.get(id) ?? 0)) disordered++;
    last.set(id, n);
  }
  let missed = 0;
  for (const [id, n] of expected) missed += n - (seen.get(id)?.size ?? 0);
  return { missed, twice, disordered };
}

function plain(text: string) {
  return { text, values: [] };
}

function random(below: number): number {
  return Math.floor(Math.random() * below);
}
