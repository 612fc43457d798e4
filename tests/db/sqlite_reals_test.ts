import { assert, assertEquals } from "@std/assert";
import { evaluateFilters } from "../../src/db/changes/evaluate_filters.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { comparison } from "../../src/filter/filter.ts";
import { greaterOperator, lessOperator } from "../../src/filter/operators/operator_registry.ts";
import { changesOf, openLog } from "../conformance/change_log_support.ts";
import { run, scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { missingSqliteShell, sqliteShell } from "../support/sqlite_shell.ts";
import type { Database } from "../../src/db/database.ts";

/** Numbers of which 15 digits, or a printer that errs in the last one, make others. */
const numbers = [
  ...[1 / 3, 0.1 + 0.2, 2 / 3, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308],
  ...[-1.1661348785953643e294, 1.1852079242837056e207, 123456789012345680000, 9007199254740993.5],
  ...[1e21, 0.001953124999999999, 4000000000000000500, -0.30000000000000004, 99999999.999999985],
  ...Array.from(
    { length: 200 },
    (_, index) => Math.sin(index + 1) * 10 ** ((index % 60) * 10 - 300),
  ),
];

const create =
  "CREATE TABLE readings (id INTEGER PRIMARY KEY, score REAL, amount NUMERIC, whole INTEGER, any_value)";

for (const scheme of ["sqlite", "node-sqlite"]) {
  Deno.test(`images hold reals digit by digit, as lists do (${scheme})`, async () => {
    await using folder = await scratchFolder();
    const db = await openDatabase(`${scheme}:${folder.path}/r.db`);
    await assertExact(db, async (values) => {
      for (const value of values) {
        await run(
          db,
          "INSERT INTO readings VALUES (NULL, ?1, ?1, ?1, ?1)".replaceAll("?1", "?"),
          ...[
            value,
            value,
            value,
            value,
          ],
        );
      }
    });
    await db.close();
  });

  Deno.test(`an infinite number of an image passes the filters that it passes in a list (${scheme})`, async () => {
    await using folder = await scratchFolder();
    const db = await openDatabase(`${scheme}:${folder.path}/r.db`);
    await run(db, create);
    const { tables: [readings] } = await db.introspect();
    const score = readings?.byName.get("score");
    assert(readings !== undefined && score !== undefined);
    const log = await openLog(db, [readings]);
    const changes = await changesOf(log, async () => {
      await run(db, "INSERT INTO readings (id, score) VALUES (1, -9e999), (2, 9e999), (3, 0.5)");
    });
    const filters = [
      comparison(lessOperator, score, [0]),
      comparison(greaterOperator, score, [0.3]),
      comparison(greaterOperator, score, [1e300]),
    ];
    const images = changes.map(({ after }) => ({ row: after ?? {} }));
    const asked = await evaluateFilters(db.driver, db.dialect, {
      table: readings,
      images,
      filters,
    });
    const listed = await run(
      db,
      "SELECT score < 0, score > 0.3, score > 1e300 FROM readings ORDER BY id",
    );
    assertEquals(asked, listed.rows.map((row) => row.map((truth) => truth === 1)));
    await log.close();
    await db.close();
  });

  testUnless(
    missingSqliteShell,
    `images hold reals digit by digit, whatever the digits of the sqlite3 command that writes (${scheme})`,
    async () => {
      await using folder = await scratchFolder();
      const path = `${folder.path}/r.db`;
      const db = await openDatabase(`${scheme}:${path}`);
      // The numbers come from the file: how the command reads decimals is none of our business.
      await run(db, "CREATE TABLE source (value REAL)");
      for (const value of numbers) await run(db, "INSERT INTO source VALUES (?)", value);
      await assertExact(db, async () => {
        await sqliteShell(
          path,
          "INSERT INTO readings SELECT NULL, value, value, value, value FROM source;\n",
        );
      });
      await db.close();
    },
  );
}

async function assertExact(
  db: Database,
  write: (values: readonly number[]) => Promise<void>,
): Promise<void> {
  await run(db, create);
  const { tables } = await db.introspect();
  const readings = tables.find(({ name }) => name === "readings");
  assert(readings !== undefined);
  const log = await openLog(db, [readings]);
  const changes = await changesOf(log, () => write(numbers));
  const { rows } = await run(db, "SELECT score FROM readings ORDER BY id");
  assertEquals(rows.map(([score]) => Number(score)), numbers, "the list");
  assertEquals(changes.map(({ after }) => after?.score), numbers, "the images");
  assertEquals(
    changes.map(({ after }) => Number(after?.amount)),
    numbers.map((number) => Math.abs(number) < 9.2e18 ? Number(number) : number),
  );
  await log.close();
}
