import { assertEquals } from "@std/assert";
import type { Driver } from "../../src/db/driver.ts";
import type { SqliteLibrary } from "../../src/engines/sqlite/driver/sqlite_library.ts";
import { sqliteDriver } from "../../src/engines/sqlite/driver/open_sqlite_file.ts";
import { maxWaitingReads } from "../../src/db/read_limiter.ts";
import type { Statement } from "../../src/sql/fragment.ts";
import { fails } from "../conformance/driver.ts";
import { scratchFolder } from "../support/scratch.ts";
import { countingRows, endless, readLimits, sqliteLibraries } from "./sqlite_reads_support.ts";

for (const library of sqliteLibraries) {
  const test = (name: string, work: () => Promise<void>) =>
    Deno.test(`${name} (${library.name})`, work);

  test("a statement that never ends kept all requests waiting for ever", async () => {
    await using folder = await scratchFolder();
    const driver = await withThreads(library, folder);
    const running = driver.reads(readLimits({ timeoutMs: 400 })).query(endless);
    await driver.query({ text: "SELECT 1", values: [] });
    await fails(running, "too-slow");
    await driver.close();
  });

  test("a read that is known to take long began in the thread of all requests", async () => {
    const counting = countingRows(library);
    const driver = await sqliteDriver(counting, ":memory:");
    const before = counting.runs;
    const reads = driver.reads(readLimits({ isLong: true }));
    assertEquals((await reads.query({ text: "SELECT 1", values: [] })).rows, [[1]]);
    assertEquals(counting.runs - before, 0);
    await driver.close();
  });

  test("the read of a client that has left continued", async () => {
    await using folder = await scratchFolder();
    const driver = await withThreads(library, folder);
    const client = new AbortController();
    const reads = driver.reads(readLimits({ signal: client.signal }));
    const [running, other, waiting] = [endless, endless, endless].map((statement) =>
      reads.query(statement)
    );
    client.abort();
    for (const read of [running, other, waiting]) await fails(read ?? fail(), "too-slow");
    // Its thread is free again.
    await fails(driver.reads(readLimits({ timeoutMs: 400 })).query(endless), "too-slow");
    await driver.close();
  });

  test("one caller took the threads and the queue from all others", async () => {
    await using folder = await scratchFolder();
    const driver = await withThreads(library, folder);
    const client = new AbortController();
    const reads = driver.reads(readLimits({ signal: client.signal }));
    const started = [reads.query(endless), reads.query(endless)];
    const waiting = Array.from({ length: maxWaitingReads / 2 }, () => reads.query(endless));
    await fails(reads.query(endless), "overloaded");
    // It came after those of the other, and yet is the next.
    const short = driver.reads(readLimits({ identity: "bob", timeoutMs: 800 })).query(endless);
    await fails(short, "overloaded");
    client.abort();
    for (const read of [...started, ...waiting]) await fails(read, "too-slow");
    await driver.close();
  });

  test("a read in a thread sees every write that was acknowledged before it", async () => {
    const driver = await sqliteDriver(library, ":memory:");
    await driver.query({ text: "CREATE TABLE t (n)", values: [] });
    const slow = slowSum("(SELECT max(n) FROM t), count(*)");
    for (let n = 1; n <= 3; n++) {
      await driver.query({ text: "INSERT INTO t VALUES (?)", values: [n] });
      const { rows } = await driver.reads(readLimits()).query(slow);
      assertEquals(rows, [[n, 300_000]]);
    }
    await driver.close();
  });

  test("reads that run and wait end when the database is closed", async () => {
    await using folder = await scratchFolder();
    const driver = await withThreads(library, folder);
    const reads = ["a", "b", "c"].map((identity) =>
      driver.reads(readLimits({ identity })).query(endless)
    );
    const ended = Promise.all(reads.map((read) => fails(read, "unavailable")));
    await driver.close();
    await ended;
  });

  test("an error of a thread has the kind that it has without one", async () => {
    const driver = await sqliteDriver(library, ":memory:");
    const overflow = "abs(sum(i) - sum(i) - 9223372036854775807 - 1)";
    await fails(driver.reads(readLimits()).query(slowSum(overflow)), "other");
    await driver.close();
  });
}

/** A database whose threads can read already. */
async function withThreads(
  library: SqliteLibrary,
  { path }: { readonly path: string },
): Promise<Driver> {
  const driver = await sqliteDriver(library, `${path}/notes.db`);
  await driver.threads?.start();
  return driver;
}

/** Too slow for the thread of requests, which ends it after 10 ms, and not for another. */
function slowSum(selected: string): Statement {
  return {
    text: `SELECT ${selected} FROM (
      WITH RECURSIVE n(i) AS (
        SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000 AND abs(service_time_check(NULL))
      ) SELECT i FROM n)`,
    values: [],
  };
}

function fail(): never {
  throw new Error("There are three");
}
