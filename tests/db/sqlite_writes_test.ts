import { assertEquals, assertRejects } from "@std/assert";
import { openBetterSqlite3 } from "../../src/engines/sqlite/driver/better_sqlite3_driver.ts";
import type { Driver } from "../../src/db/driver.ts";
import { openNodeSqlite } from "../../src/engines/sqlite/driver/node_sqlite_driver.ts";
import { transact } from "../../src/db/transact.ts";
import type { SqlValue } from "../../src/sql/fragment.ts";
import { fails } from "../conformance/driver.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { gate, runScript, scratchFolder } from "../support/scratch.ts";

const runtime = systemRuntime(() => {});

for (
  const [name, open] of [["better-sqlite3", openBetterSqlite3], [
    "node:sqlite",
    openNodeSqlite,
  ]] as const
) {
  const test = (promise: string, work: (driver: Driver, path: string) => Promise<void>) => {
    Deno.test(`${name}: ${promise}`, async () => {
      await using folder = await scratchFolder();
      const driver = await open(`${folder.path}/a.db`);
      try {
        await runScript(driver, "CREATE TABLE t (n INTEGER PRIMARY KEY, b);");
        await work(driver, folder.path);
      } finally {
        await driver.close();
      }
    });
  };

  test("jobs see what the ones before them wrote, and readers see it after the commit", async (driver) => {
    const [inside, end] = [gate(), gate()];
    const first = query(driver, "INSERT INTO t VALUES (1, 'first')");
    const waiting = driver.transaction(async (connection) => {
      const { rows } = await query(connection, "UPDATE t SET b = b || '!' RETURNING b");
      inside.open();
      await end.passed;
      return rows;
    });
    const last = query(driver, "UPDATE t SET b = b || '?' RETURNING b");
    await inside.passed;
    assertEquals(await numbers(driver), []);
    end.open();
    await first;
    assertEquals(await waiting, [["first!"]]);
    assertEquals((await last).rows, [["first!?"]]);
    assertEquals(await numbers(driver), [1]);
  });

  test("a job that fails leaves the others of its group untouched", async (driver) => {
    const results = await Promise.allSettled([
      query(driver, "INSERT INTO t VALUES (1, NULL)"),
      query(driver, "INSERT INTO t VALUES (1, NULL)"),
      driver.transaction(async (connection) => {
        await query(connection, "INSERT INTO t VALUES (2, NULL)");
        await query(connection, "DELETE FROM t WHERE n = 1");
        throw new Error("no");
      }),
      query(driver, "INSERT OR FAIL INTO t VALUES (3, NULL), (1, NULL)"),
      driver.transaction(async (connection) => {
        await query(connection, "INSERT INTO t VALUES (4, NULL)");
        await Promise.resolve();
        await query(connection, "INSERT INTO t VALUES (5, NULL)");
      }),
    ]);
    assertEquals(results.map(({ status }) => status === "fulfilled"), [
      ...[true, false, false, false, true],
    ]);
    assertEquals(await numbers(driver), [1, 4, 5]);
  });

  test("many writers at once lose and mix up nothing", async (driver) => {
    await query(driver, "INSERT INTO t VALUES (0, 0)");
    const jobs = Array.from({ length: 700 }, (_, index) => {
      const n = index + 1;
      if (n % 5 === 0) {
        return assertRejects(() => query(driver, `INSERT INTO t VALUES (0, ${n})`));
      }
      if (n % 3 !== 0) return query(driver, `INSERT INTO t VALUES (?, NULL)`, n);
      return driver.transaction(async (connection) => {
        const [row] = (await query(connection, "SELECT b FROM t WHERE n = 0")).rows;
        if (n % 30 === 3) await new Promise((resolve) => setTimeout(resolve, 1));
        await query(connection, "UPDATE t SET b = ? WHERE n = 0", Number(row?.[0]) + 1);
        if (n % 2 === 0) throw new Error("even");
      }).catch((error) => assertEquals(error.message, "even"));
    });
    await Promise.all(jobs);
    const all = Array.from({ length: 701 }, (_, n) => n);
    const counted = all.filter((n) => n % 3 === 0 && n % 5 !== 0 && n % 2 !== 0).length;
    assertEquals((await query(driver, "SELECT b FROM t WHERE n = 0")).rows, [[counted]]);
    const kept = all.filter((n) => n === 0 || n % 5 !== 0 && n % 3 !== 0);
    assertEquals(await numbers(driver), kept);
  });

  test("a full disk fails the write that fills it, and none beside it", async (driver) => {
    // The limit belongs to a connection: inside a transaction it is that of the writing one.
    await driver.transaction((connection) => query(connection, "PRAGMA max_page_count = 20"));
    let runs = 0;
    const results = await Promise.allSettled([
      query(driver, "INSERT INTO t VALUES (1, '')"),
      transact(driver, runtime, async (connection) => {
        runs++;
        await query(connection, "INSERT INTO t VALUES (2, '')");
      }),
      query(driver, "INSERT INTO t VALUES (3, zeroblob(1000000))"),
      query(driver, "INSERT INTO t VALUES (4, '')"),
      transact(driver, runtime, (connection) => query(connection, "INSERT INTO t VALUES (5, '')")),
    ]);
    assertEquals(results.map(({ status }) => status === "fulfilled"), [
      ...[true, true, false, true, true],
    ]);
    await fails(query(driver, "INSERT INTO t VALUES (3, zeroblob(1000000))"), "unavailable");
    assertEquals(runs, 2);
    assertEquals(await numbers(driver), [1, 2, 4, 5]);
  });

  test("a disk that stays full answers every writer with its own failure", async (driver) => {
    await driver.transaction((connection) => query(connection, "PRAGMA max_page_count = 20"));
    await Promise.all(Array.from({ length: 30 }, (_, n) => {
      const text = "INSERT INTO t VALUES (?, zeroblob(1000000))";
      return n % 2 === 0 ? fails(query(driver, text, n), "unavailable") : fails(
        transact(driver, runtime, (connection) => query(connection, text, n)),
        "unavailable",
      );
    }));
    await query(driver, "INSERT INTO t VALUES (1, '')");
    assertEquals(await numbers(driver), [1]);
  });

  test("a trigger that rolls back ends its own job only", async (driver) => {
    await query(
      driver,
      `CREATE TRIGGER refuse BEFORE INSERT ON t WHEN NEW.b = 'refused'
       BEGIN SELECT RAISE(ROLLBACK, 'refused'); END`,
    );
    const first = query(driver, "INSERT INTO t VALUES (1, '')");
    const refused = fails(query(driver, "INSERT INTO t VALUES (2, 'refused')"), "check");
    const last = transact(
      driver,
      runtime,
      (connection) => query(connection, "INSERT INTO t VALUES (3, '')"),
    );
    await Promise.all([first, refused, last]);
    assertEquals(await numbers(driver), [1, 3]);
  });

  test("only the job that leaves a deferred foreign key broken fails", async (driver) => {
    await runScript(
      driver,
      `CREATE TABLE child (id INTEGER PRIMARY KEY,
         parent INTEGER REFERENCES t (n) DEFERRABLE INITIALLY DEFERRED);`,
    );
    const first = query(driver, "INSERT INTO t VALUES (1, '')");
    const whole = transact(driver, runtime, async (connection) => {
      await query(connection, "INSERT INTO child VALUES (2, 2)");
      await query(connection, "INSERT INTO t VALUES (2, '')");
    });
    const orphan = fails(query(driver, "INSERT INTO child VALUES (3, 77)"), "foreign-key");
    const orphans = fails(
      transact(driver, runtime, async (connection) => {
        await query(connection, "INSERT INTO t VALUES (4, '')");
        await query(connection, "INSERT INTO child VALUES (4, 78)");
      }),
      "foreign-key",
    );
    const last = query(driver, "INSERT INTO child VALUES (5, 1)");
    await Promise.all([first, whole, orphan, orphans, last]);
    assertEquals(await numbers(driver), [1, 2]);
    assertEquals((await query(driver, "SELECT id FROM child ORDER BY id")).rows, [[2], [5]]);
  });

  test("a statement cannot end the transaction that others share", async (driver) => {
    const first = query(driver, "INSERT INTO t VALUES (1, '')");
    const unit = driver.transaction(async (connection) => {
      await query(connection, "SAVEPOINT mine");
      await query(connection, "INSERT INTO t VALUES (2, '')");
      await query(connection, "ROLLBACK TO mine");
      await query(connection, "INSERT INTO t VALUES (3, '')");
      for (const text of ["COMMIT", "end", "ROLLBACK", "BEGIN", "/* a */ -- b\n Commit"]) {
        await assertRejects(() => query(connection, text), Error, "use transaction()");
      }
      throw new Error("no");
    });
    await assertRejects(() => unit, Error, "no");
    await first;
    await assertRejects(() => query(driver, "COMMIT"), Error, "use transaction()");
    await assertRejects(() => query(driver, "SAVEPOINT s"), Error, "use transaction()");
    assertEquals(await numbers(driver), [1]);
  });

  test(
    "statements that SQLite runs outside of transactions only work beside others",
    async (driver, folder) => {
      await Promise.all([
        query(driver, "INSERT INTO t VALUES (1, '')"),
        query(driver, "VACUUM"),
        query(driver, "INSERT INTO t VALUES (2, '')"),
        query(driver, "VACUUM INTO ?", `${folder}/copy.db`),
        query(driver, "PRAGMA user_version = 7"),
        query(driver, "PRAGMA wal_checkpoint(TRUNCATE)"),
        driver.transaction((connection) => query(connection, "INSERT INTO t VALUES (3, '')")),
      ]);
      await query(driver, "ATTACH ? AS other", `${folder}/copy.db`);
      const { rows } = await query(driver, "PRAGMA journal_mode = WAL");
      assertEquals(rows, [["wal"]]);
      await assertRejects(() => driver.transaction((connection) => query(connection, "VACUUM")));
      assertEquals(await numbers(driver), [1, 2, 3]);
      assertEquals((await query(driver, "SELECT count(*) FROM other.t")).rows, [[2]]);
      assertEquals((await query(driver, "PRAGMA user_version")).rows, [[7]]);
    },
  );

  test("closing waits for all queued writes", async (driver) => {
    const jobs = [
      query(driver, "INSERT INTO t VALUES (1, '')"),
      driver.transaction(async (connection) => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        await query(connection, "INSERT INTO t VALUES (2, '')");
      }),
      query(driver, "INSERT INTO t VALUES (3, '')"),
    ];
    await driver.close();
    await Promise.all(jobs);
    await fails(query(driver, "INSERT INTO t VALUES (4, '')"), "unavailable");
  });
}

async function query(connection: Pick<Driver, "query">, text: string, ...values: SqlValue[]) {
  return await connection.query({ text, values });
}

async function numbers(driver: Driver): Promise<unknown[]> {
  return (await query(driver, "SELECT n FROM t ORDER BY n")).rows.map(([n]) => n);
}
