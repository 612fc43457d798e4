import { assert } from "@std/assert";
import type { ChangeLog } from "../../src/db/changes/change_log.ts";
import { resolveChangesOptions } from "../../src/db/changes/changes_options.ts";
import { openChangeLog } from "../../src/db/changes/open_change_log.ts";
import type { Connection, Driver } from "../../src/db/driver.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import type { Statement } from "../../src/sql/fragment.ts";
import { runtime } from "../conformance/change_log_support.ts";
import { engines } from "../support/engines.ts";
import { run } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import type { Database } from "../../src/db/database.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text() });

/** A log of so many transactions has about 700 blocks. */
const logged = 40_000;
/** So many blocks have the changes that are to be read, with the steps down the indexes. */
const maxBlocks = 100;

const reads: readonly { name: string; of: (log: ChangeLog, db: Database) => Promise<unknown> }[] = [
  {
    name: "the changes of the last transactions",
    of: async (log, db) => {
      const from = await log.end();
      await run(db, "INSERT INTO notes VALUES (1, 'a'), (2, 'b')");
      return await log.next(from);
    },
  },
  { name: "the end of the log", of: async (log) => await log.next(await log.end()) },
  {
    name: "a later part of a large step",
    of: async (log, db) => {
      const from = await log.end();
      await run(db, "INSERT INTO notes SELECT n, 'x' FROM generate_series(10, 1200) AS n");
      const first = await log.next(from);
      assert(first !== null && first.to === null, "the step has one part only");
      return await log.next(first);
    },
  },
  { name: "what may be purged, where nothing may", of: (log) => log.purge() },
];

for (const engine of engines.filter(({ name }) => name === "postgres")) {
  for (const plan of ["force_generic_plan", "force_custom_plan"]) {
    testUnless(
      engine.ignore ?? null,
      `a long log is not read from its start, ${plan}`,
      async () => {
        const db = await engine.open();
        try {
          await db.createTables([notes]);
          const statements: Statement[] = [];
          const log = await openChangeLog({
            driver: noting(db.driver, statements),
            tables: [tableInfoOf(notes)],
            changes: resolveChangesOptions(),
            runtime,
          });
          await fillLog(db);
          for (const { name, of } of reads) {
            statements.length = 0;
            await of(log, db);
            const last = statements.findLast(({ text }) =>
              text.includes('FROM "_service_changes"')
            );
            assert(last !== undefined, name);
            const blocks = await blocksOf(last, plan, db);
            assert(blocks <= maxBlocks, `${name}: ${blocks} blocks`);
          }
          await log.close();
        } finally {
          await db.close();
        }
      },
    );
  }
}

/** Fills the log as so many transactions would, one after the other. */
async function fillLog(db: Database): Promise<void> {
  const transactions = logged / 4;
  // Subtransactions use up the numbers, and are quicker than so many transactions.
  await run(db, "CREATE TABLE used (n int)");
  await run(
    db,
    `DO $$ BEGIN FOR n IN 1..${transactions} LOOP
      BEGIN INSERT INTO used VALUES (n); EXCEPTION WHEN others THEN RAISE; END;
    END LOOP; END $$`,
  );
  await run(
    db,
    `INSERT INTO "_service_changes" (xid, "table", op, after)
      SELECT (pg_snapshot_xmin(pg_current_snapshot())::text::bigint - ${transactions} + n / 4)
        ::text::xid8, 'other', 'insert', '{"id":1}'
      FROM generate_series(1, ${logged - 4}) AS n`,
  );
  await run(db, `ANALYZE "_service_changes"`);
}

/** How many blocks a statement reads when it is prepared and executed by a kind of plan. */
async function blocksOf({ text, values }: Statement, plan: string, db: Database): Promise<number> {
  const literals = values.map((value) => `'${String(value).replaceAll("'", "''")}'`);
  const undone = new Error("undone");
  let answer = "";
  await db.driver.transaction(async (connection) => {
    const execute = (text: string) => connection.query({ text, values: [] });
    await execute(`SET LOCAL plan_cache_mode = ${plan}`);
    await execute(`PREPARE logged AS ${text}`);
    const args = literals.length === 0 ? "" : `(${literals.join(", ")})`;
    const { rows } = await execute(
      `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE logged ${args}`,
    );
    answer = String(rows[0]?.[0]);
    await execute("DEALLOCATE logged");
    throw undone;
  }).catch((error) => {
    if (error !== undone) throw error;
  });
  const [{ Plan: whole }] = JSON.parse(answer);
  return whole["Shared Hit Blocks"] + whole["Shared Read Blocks"];
}

/** The same driver, which notes what it runs. */
function noting(driver: Driver, statements: Statement[]): Driver {
  const over = <C extends Connection>(connection: C): C =>
    new Proxy(connection, {
      get(target, name) {
        const value = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          if (name === "query") statements.push(args[0] as Statement);
          if (name === "transaction") {
            const work = args[0] as (connection: Connection) => Promise<unknown>;
            return value.call(target, (inner: Connection) => work(over(inner)));
          }
          return value.apply(target, args);
        };
      },
    });
  return over(driver);
}
