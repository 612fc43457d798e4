/** The settings of a session, and the options that determine them. */
import { assertEquals, assertRejects } from "@std/assert";
import { bytes, integer, openDatabase, table, text } from "../../mod.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull().default("a\\'b\\\\"),
  content: bytes().notNull().default("ACdc"),
});

testOnPostgres("declared defaults are exact with standard_conforming_strings off", async (url) => {
  const name = new URL(url).pathname.slice(1);
  const admin = await openDatabase(url);
  await admin.driver.query({
    text: `ALTER DATABASE "${name}" SET standard_conforming_strings = off`,
    values: [],
  });
  await admin.close();
  const db = await openDatabase(url);
  try {
    await db.createTables([notes]);
    await db.driver.query({ text: "INSERT INTO notes (id) VALUES (1)", values: [] });
    const { rows } = await db.driver.query({
      text: "SELECT title, content FROM notes",
      values: [],
    });
    assertEquals(rows, [["a\\'b\\\\", "\\x00275c"]]);
  } finally {
    await db.close();
  }
});

testOnPostgres("openDatabase has the options of a server", async (url) => {
  const options = { maxConnections: 3, maxReadConnections: 1, statementTimeoutMs: 1_234 };
  const db = await openDatabase(url, { ...options, maxParallelWorkers: 2, waitLimitMs: 700 });
  try {
    const shown = async (name: string) =>
      (await db.driver.query({ text: `SHOW ${name}`, values: [] })).rows[0]?.[0];
    assertEquals(
      [await shown("statement_timeout"), await shown("max_parallel_workers_per_gather")],
      ["1234ms", "2"],
    );
    assertEquals(db.driver.poolUsage?.().size, 3);
  } finally {
    await db.close();
  }
  const { message } = await assertRejects(() => openDatabase(url, { maxConnections: 0 }), Error);
  assertEquals(
    message,
    "Cannot open the database: maxConnections must be a whole number from 1 on, not 0",
  );
});

Deno.test("openDatabase refuses the options of a server for other databases", async () => {
  for (const url of ["sqlite::memory:", "pglite::memory:"]) {
    await assertRejects(
      () => openDatabase(url, { maxConnections: 3 }),
      Error,
      'Cannot open the database: there is no option "maxConnections"',
    );
  }
});
