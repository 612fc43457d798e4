import { assertEquals } from "@std/assert";
import { describeDifference } from "../../../src/db/migrations/compare/difference.ts";
import { engineOf } from "../../../src/db/engine/engine.ts";
import {
  findDifferences,
  migrateTables,
  type Migration,
} from "../../../src/db/migrations/migrate_tables.ts";
import type { MigrateOptions } from "../../../src/db/migrations/migrate_options.ts";
import { migrateFiles } from "../../../src/db/migrations/files/migrate_files.ts";
import { writePlan } from "../../../src/cli/migrate/written_files.ts";
import { createTables } from "../../../src/db/tables/create_tables.ts";
import type { TableInfo } from "../../../src/schema/table_info.ts";
import { testOnDialects } from "../../support/http.ts";
import { scratchFolder } from "../../support/scratch.ts";
import { allowDrop, migratedRows, newest, trackerRows, trackerTables } from "./tracker_versions.ts";
import type { Database } from "../../../src/db/database.ts";

function migrate(
  { driver }: Database,
  tables: readonly TableInfo[],
  options: MigrateOptions = {},
): Promise<Migration> {
  const { allowDrop = [], keep = [], dryRun = false } = options;
  const random = { bytes: (length: number) => new Uint8Array(length) };
  return migrateTables({ ...{ driver, tables, allowDrop, keep, dryRun, random }, agreed: null });
}

/**
 * All that a database has of the tables of a version, but for the order of columns and the names of
 * constraints, which stay when a table is renamed.
 */
async function stateOf(db: Database, tables: readonly TableInfo[]): Promise<unknown> {
  const { comparison } = await engineOf(db).migrations();
  const { tables: shapes } = await db.driver.transaction((connection) =>
    comparison.shapes(connection, tables)
  );
  const sorted = (values: readonly unknown[]) =>
    values.map((one) =>
      JSON.stringify(
        one,
        (key, value) =>
          key === "check" || key === "name" && /_(?:key|fkey|check)$/.test(value) ? null : value,
      )
    ).sort();
  const { tables: described } = await db.introspect();
  return {
    shapes: shapes.toSorted((one, other) => one.name < other.name ? -1 : 1).map((
      { sql: _sql, keyName: _name, ...shape },
    ) => ({
      ...shape,
      columns: sorted(shape.columns),
      uniques: sorted(shape.uniques),
      checks: sorted(shape.checks),
      foreignKeys: sorted(shape.foreignKeys),
      indexes: sorted(shape.indexes),
    })),
    described: described.map(({ label, columns, primaryKey, foreignKeys }) => ({
      ...{ label, columns: sorted(columns), foreignKeys: sorted(foreignKeys) },
      primaryKey: primaryKey.map(({ name }) => name),
    })),
  };
}

async function rowsOf(db: Database): Promise<Record<string, readonly unknown[]>> {
  const number = (value: unknown) => value === null ? null : Number(value);
  const read = async (text: string) => (await db.query({ text, values: [] })).rows;
  return {
    teams: (await read("SELECT id, name, plan FROM teams ORDER BY id"))
      .map(([id, ...rest]) => [number(id), ...rest]),
    people: await read("SELECT id, full_name FROM people ORDER BY id"),
    issues: (await read(
      "SELECT id, title, body, status, priority, estimate, team FROM issues ORDER BY id",
    )).map(([id, title, body, status, ...rest]) => [
      ...[number(id), title, body, status],
      ...rest.map(number),
    ]),
    comments: (await read("SELECT issue, number, words FROM comments ORDER BY number"))
      .map(([issue, at, words]) => [number(issue), number(at), words]),
    "issue log": (await read('SELECT id, issue FROM "issue log"')).map((row) => row.map(number)),
  };
}

testOnDialects("each older schema becomes the newest one with all its rows", async (engine) => {
  const fresh = await engine.open();
  const tables = trackerTables(newest);
  await createTables(fresh.driver, tables);
  const wanted = await stateOf(fresh, tables);
  await fresh.close();
  const db = await engine.open();
  try {
    // `deno task migrate-kill` takes all of them on both engines; Postgres has the longer statements.
    const step = db.dialect.engine === "sqlite" ? 1 : 4;
    for (let version = 1; version < newest; version += step) {
      await emptied(db);
      await createTables(db.driver, trackerTables(version));
      await db.query({ text: "CREATE TABLE wiki (page int)", values: [] });
      for (const text of trackerRows(version, db.dialect)) await db.query({ text, values: [] });
      const { steps, isApplied, left } = await migrate(db, tables, { allowDrop });
      assertEquals([isApplied, left], [true, []], `version ${version}`);
      assertEquals(steps.at(-1)?.sql, 'DROP TABLE "wiki"');
      assertEquals(await rowsOf(db), migratedRows(version), `rows of version ${version}`);
      assertEquals(await stateOf(db, tables), wanted, `version ${version}`);
      assertEquals(await differences(db, tables), []);
      assertEquals((await migrate(db, tables)).isApplied, false);
    }
  } finally {
    await db.close();
  }
});

testOnDialects("each older schema becomes the newest one by the written files", async (engine) => {
  const tables = trackerTables(newest);
  const fresh = await engine.open();
  await createTables(fresh.driver, tables);
  const wanted = await stateOf(fresh, tables);
  await fresh.close();
  const db = await engine.open();
  try {
    const step = db.dialect.engine === "sqlite" ? 3 : 5;
    for (let version = 1; version < newest; version += step) {
      await using folder = await scratchFolder();
      await emptied(db);
      await createTables(db.driver, trackerTables(version));
      for (const text of trackerRows(version, db.dialect)) await db.query({ text, values: [] });
      const plan = await migrate(db, tables, { allowDrop, dryRun: true });
      await writePlan(plan, { db, folder: folder.path, name: "newest" });
      const random = { bytes: (length: number) => new Uint8Array(length) };
      await migrateFiles({ driver: db.driver, folder: folder.path, random });
      assertEquals(await rowsOf(db), migratedRows(version), `rows of version ${version}`);
      assertEquals(await stateOf(db, tables), wanted, `version ${version}`);
      assertEquals(await differences(db, tables), []);
      await db.query({ text: "DROP TABLE _service_migrations", values: [] });
    }
  } finally {
    await db.close();
  }
});

async function differences(db: Database, tables: readonly TableInfo[]): Promise<string[]> {
  const found = await db.driver.transaction((connection) =>
    findDifferences(connection, db.dialect, tables)
  );
  return found.differences.map(describeDifference);
}

async function emptied(db: Database): Promise<void> {
  const names = ["issue log", "comments", "notes", "issues", "people", "teams", "wiki"];
  for (const name of names) await db.query({ text: `DROP TABLE IF EXISTS "${name}"`, values: [] });
}
