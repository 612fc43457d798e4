import { assertEquals, assertRejects } from "@std/assert";
import { everyEngine } from "../support/engines.ts";
import type { Database } from "../../src/db/database.ts";

/** Runs by both libraries of SQLite. */
function test(fault: string, work: (db: Database) => Promise<void>): void {
  for (const { name, open } of everyEngine.filter(({ name }) => name.includes("sqlite"))) {
    Deno.test(`${name}: ${fault}`, async () => {
      const db = await open();
      try {
        await db.query({ text: "CREATE TABLE t (a INTEGER)", values: [] });
        await work(db);
      } finally {
        await db.close();
      }
    });
  }
}

test("an empty statement ended the process under node:sqlite", async (db) => {
  for (const text of ["", " ", ";", "-- nothing", "/* nothing */", "/* open"]) {
    await assertRejects(() => db.query({ text, values: [] }), Error, "empty statement");
  }
});

test("a write after a comment was said to have changed nothing", async (db) => {
  const changed = async (text: string) => (await db.query({ text, values: [] })).changed;
  assertEquals(await changed("/* ours */ INSERT INTO t VALUES (1), (2)"), 2);
  assertEquals(await changed("-- ours\nUPDATE t SET a = 3"), 2);
});

test("EXPLAIN failed, and so did a statement after a semicolon", async (db) => {
  const plan = await db.query({ text: "EXPLAIN QUERY PLAN SELECT a FROM t", values: [] });
  assertEquals(plan.rows.length, 1);
  assertEquals((await db.query({ text: "; SELECT 1", values: [] })).rows, [[1]]);
});

test("a result has the columns of the table as it is", async (db) => {
  const names = async () => {
    const { columns } = await db.query({ text: "SELECT * FROM t", values: [], describe: true });
    return columns?.map(({ name }) => name);
  };
  assertEquals(await names(), ["a"]);
  await db.query({ text: "ALTER TABLE t RENAME COLUMN a TO b", values: [] });
  await db.query({ text: "INSERT INTO t VALUES (1)", values: [] });
  assertEquals(await names(), ["b"]);
});
