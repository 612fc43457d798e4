import { assertEquals } from "@std/assert";
import postgres from "postgres";
import type { ChangeLog } from "../../src/db/changes/change_log.ts";
import { resolveChangesOptions } from "../../src/db/changes/changes_options.ts";
import { openChangeLog } from "../../src/db/changes/open_change_log.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { runtime } from "../conformance/change_log_support.ts";
import { createScratchDatabase } from "../support/engines.ts";
import { missingPostgres, startMortalPostgres } from "../support/mortal_postgres.ts";
import { gate, run, runScript } from "../support/scratch.ts";
import { testPostgres, testUnless } from "../support/skip.ts";
import { handClock } from "./hand_clock.ts";
import type { Database } from "../../src/db/database.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text() });
const server = testPostgres();

/** A log whose clock stands still, so that nothing is polled, and a program without a log. */
interface World {
  readonly db: Database;
  readonly log: ChangeLog;
  readonly stranger: Database;
  readonly advance: (ms: number) => void;
  /** Resolves at the next hint. */
  readonly hint: () => Promise<void>;
}

function test(name: string, work: (world: World) => Promise<void>): void {
  testUnless("missing" in server ? server.missing : null, `${name} (postgres)`, async () => {
    if ("missing" in server) return;
    const scratch = await createScratchDatabase(server.url);
    try {
      await withWorld(scratch.url, work);
    } finally {
      await scratch.drop();
    }
  });
}

async function withWorld(url: string, work: (world: World) => Promise<void>): Promise<void> {
  const { clock, advance } = handClock();
  const db = await openDatabase(url, { clock });
  const stranger = await openDatabase(url);
  await db.createTables([notes]);
  const log = await openChangeLog({
    driver: db.driver,
    tables: [tableInfoOf(notes)],
    changes: resolveChangesOptions(),
    runtime: { ...runtime, clock },
  });
  let next = Promise.withResolvers<void>();
  log.onHint(() => {
    next.resolve();
    next = Promise.withResolvers();
  });
  // The first hint says that it listens now. It may have come before, and then a signal is one.
  const first = next.promise;
  await run(stranger, "SELECT pg_notify('service_changes', '')");
  await inTime(first);
  try {
    await work({ db, log, stranger, advance, hint: () => inTime(next.promise) });
  } finally {
    await log.close();
    await Promise.all([db.close(), stranger.close()]);
  }
}

/** A hang fails the test instead of holding it. */
async function inTime(work: Promise<void>): Promise<void> {
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(() => limit.reject(new Error("It never came")), 10_000);
  try {
    await Promise.race([work, limit.promise]);
  } finally {
    clearTimeout(timer);
  }
}

test("a change by another program is signalled, and waits for no poll", async (world) => {
  const hinted = world.hint();
  await run(world.stranger, "INSERT INTO notes VALUES (1, 'a'), (2, 'b')");
  await hinted;
});

test("a transaction beside the one that signals is found by the poll after it", async (world) => {
  const { stranger, advance, hint } = world;
  const [first, second] = [gate(), gate()];
  const [firstWrote, secondWrote] = [gate(), gate()];
  const insert = (id: number, wrote: { open: () => void }, end: { passed: Promise<void> }) =>
    stranger.driver.transaction(async (connection) => {
      await connection.query({ text: `INSERT INTO notes VALUES (${id}, '')`, values: [] });
      wrote.open();
      await end.passed;
    });
  const one = insert(1, firstWrote, first);
  await firstWrote.passed;
  const two = insert(2, secondWrote, second);
  await secondWrote.passed;
  const signalled = hint();
  first.open();
  await one;
  await signalled;
  second.open();
  await two;
  const looked = hint();
  advance(10);
  await looked;
});

test("a process that signals after commits does not signal in them", async ({ db, log, stranger }) => {
  let heard: boolean[] = [];
  let isSignalled = gate();
  const isListening = gate();
  const line = stranger.driver.signals?.listen((isAlone) => {
    heard.push(isAlone);
    isListening.open();
    if (isAlone) isSignalled.open();
  });
  await isListening.passed;
  // All connections of the pool: those, too, that were open before the log was.
  await Promise.all(
    Array.from({ length: 20 }, (_, id) => run(db, `INSERT INTO notes VALUES (${id}, 'a')`)),
  );
  // Signals come in the order of commits.
  await run(stranger, "SELECT pg_notify('service_changes', '')");
  await inTime(isSignalled.passed);
  assertEquals(heard.filter((isAlone) => isAlone).length, 1);
  // Without an open log the trigger has to signal.
  await log.close();
  heard = [];
  isSignalled = gate();
  await run(db, "DELETE FROM notes");
  await inTime(isSignalled.passed);
  await line?.close();
});

testUnless(
  "missing" in server ? server.missing : null,
  "a process sends signals only while another one listens (postgres)",
  async () => {
    if ("missing" in server) return;
    const scratch = await createScratchDatabase(server.url);
    const sql = postgres(scratch.url, { max: 1, onnotice: () => {} });
    const heard: string[] = [];
    let next = gate();
    await sql.listen("service_changes", (payload) => {
      heard.push(payload.replace(/\d+/, "N"));
      next.open();
    });
    /** Waits for this number of payloads, all of them since the start. */
    const hears = async (count: number) => {
      for (; heard.length < count; next = gate()) await inTime(next.passed);
      assertEquals(heard.length, count);
    };
    const { clock, advance } = handClock();
    const db = await openDatabase(scratch.url, { clock });
    await db.createTables([notes]);
    const log = await openChangeLog({
      driver: db.driver,
      tables: [tableInfoOf(notes)],
      changes: resolveChangesOptions(),
      runtime: { ...runtime, clock },
    });
    let id = 0;
    const write = async () => {
      await run(db, `INSERT INTO notes VALUES (${++id}, 'a')`);
      advance(5);
    };
    await hears(1);
    for (let count = 0; count < 10; count++) await write();
    const other = await openDatabase(scratch.url);
    const line = other.driver.signals?.listen(() => {});
    // A greeting is answered by a signal, because the new listener may have missed a write.
    await hears(3);
    await write();
    await hears(4);
    await line?.close();
    await other.close();
    // The server ends the session of the other one some time after it has closed its connection.
    const listening = async () =>
      (await sql`SELECT FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock'
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).length;
    while (await listening() > 1) await sql`SELECT pg_sleep(0.01)`;
    // After ten seconds, the process looks again after its signal, and finds no other listener.
    advance(10_000);
    const untilQuiet = async () => {
      for (let quiet = 0; quiet < 3;) {
        const before = heard.length;
        await write();
        await sql`SELECT pg_sleep(0.02)`;
        quiet = heard.length === before ? quiet + 1 : 0;
      }
    };
    await inTime(untilQuiet());
    await log.close();
    await db.close();
    assertEquals(heard.slice(0, 4), ["listens N", "listens N", "N", "N"]);
    await sql.end();
    await scratch.drop();
  },
);

testUnless(
  missingPostgres,
  "a recorded write can be committed in two phases (postgres)",
  async () => {
    await using own = await startMortalPostgres({ max_prepared_transactions: "2" });
    await withWorld(own.url, async ({ log, stranger }) => {
      const from = await log.end();
      await stranger.driver.transaction((connection) =>
        runScript(
          connection,
          `INSERT INTO notes VALUES (1, 'a');
           PREPARE TRANSACTION 'one';`,
        )
      );
      await run(stranger, "COMMIT PREPARED 'one'");
      assertEquals((await log.next(from))?.changes.length, 1);
    });
  },
);
