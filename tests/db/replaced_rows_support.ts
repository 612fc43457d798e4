import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Change } from "../../src/db/changes/change_log.ts";
import { DatabaseError } from "../../src/db/database_error.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { createRowReader } from "../../src/db/rows.ts";
import type { TableInfo } from "../../src/schema/table_info.ts";
import { identifier, join, sql, toStatement } from "../../src/sql/fragment.ts";
import { openLog, readOn } from "../conformance/change_log_support.ts";
import { run } from "../support/scratch.ts";
import type { Database } from "../../src/db/database.ts";

/** A table, called t, whose statements may replace rows, with its columns. */
export interface World {
  readonly name: string;
  readonly script: readonly string[];
  readonly columns: readonly string[];
  /** Its triggers change rows that are being written, or call each other without end. */
  readonly isWild?: true;
  /** Its triggers write while rows are being replaced: the log may have a `touch`. */
  readonly mayTouch?: true;
}

/** `RUNS=50` runs fifty times as many random scripts. */
const times = Number(Deno.env.get("RUNS") ?? "1");

/**
 * The SQLite libraries, with the schemes of their URLs. Both have the same triggers, and SQLite in
 * versions of their own: the second runs a third of the random scripts.
 */
export const libraries = [
  { library: "better-sqlite3", scheme: "sqlite", share: 1 },
  { library: "node:sqlite", scheme: "node-sqlite", share: 1 / 3 },
];

/** A database that is closed when its test ends, also by a failure. */
export async function opened(url: string): Promise<AsyncDisposable & { readonly db: Database }> {
  const db = await openDatabase(url);
  return { db, [Symbol.asyncDispose]: () => db.close() };
}

const value = (column: string) =>
  column === "id" || column === "rowid"
    ? fc.constantFrom("1", "2", "3", "-1", "NULL")
    : fc.constantFrom("1", "2", "1.5", "'x'", "'X'", "'y'", "NULL", "'1'");

const policy = fc.constantFrom(
  ...["", "", "OR IGNORE ", "OR FAIL ", "OR ABORT ", "OR REPLACE ", "OR REPLACE ", "OR REPLACE "],
);

function statements({ columns }: World): fc.Arbitrary<readonly string[]> {
  const some = fc.subarray([...columns], { minLength: 1 });
  const tuple = (names: readonly string[]) =>
    fc.tuple(...names.map(value)).map((values) => `(${values.join(", ")})`);
  const insert = fc.tuple(policy, some, fc.constantFrom("", "", " ON CONFLICT DO NOTHING", null))
    .chain(([policy, names, conflict]) =>
      fc.tuple(fc.array(tuple(names), { minLength: 1, maxLength: 3 }), set(columns)).map((
        [tuples, sets],
      ) =>
        `INSERT ${policy}INTO t (${names.join(", ")}) VALUES ${tuples.join(", ")}${
          conflict ?? ` ON CONFLICT DO UPDATE SET ${sets}`
        }`
      )
    );
  const update = fc.tuple(policy, set(columns), value("b")).map(([policy, sets, limit]) =>
    `UPDATE ${policy}t SET ${sets} WHERE b IS NOT ${limit}`
  );
  const other = fc.constantFrom(
    "DELETE FROM t WHERE c = 1.5",
    "VACUUM",
    "DELETE FROM t WHERE b = 2",
  );
  return fc.array(
    fc.oneof({ weight: 6, arbitrary: insert }, { weight: 3, arbitrary: update }, {
      weight: 1,
      arbitrary: other,
    }),
    { minLength: 1, maxLength: 14 },
  );
}

function set(columns: readonly string[]): fc.Arbitrary<string> {
  return fc.subarray([...columns], { minLength: 1, maxLength: 2 }).chain((names) =>
    fc.tuple(...names.map(value)).map((values) =>
      names.map((name, index) => `${name} = ${values[index]}`).join(", ")
    )
  );
}

/** Sets `recursive_triggers` of the connection that writes. */
export async function useRecursion(db: Database, recursive: string): Promise<void> {
  // In a transaction: otherwise the connection that reads would execute it.
  await db.driver.transaction((connection) =>
    connection.query({ text: `PRAGMA recursive_triggers = ${recursive}`, values: [] })
  );
}

/** Runs a statement; constraints refuse some of them, as they should. */
export async function tolerant(db: Database, text: string): Promise<void> {
  try {
    await run(db, text);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    assert(!/no such|syntax|ambiguous/.test(String(error.cause)), `${text}: ${error.cause}`);
  }
}

/** The changes of each script lead from the rows before it to the rows after it. */
export async function follow(
  db: Database,
  world: World,
  numRuns: number,
  write: (script: readonly string[]) => Promise<void>,
): Promise<void> {
  for (const text of world.script) await run(db, text);
  const { tables } = await db.introspect();
  const table = tables.find(({ name }) => name === "t");
  assert(table !== undefined);
  const log = await openLog(db, [table]);
  await using _ = { [Symbol.asyncDispose]: () => log.close() };
  await fc.assert(
    fc.asyncProperty(statements(world), async (script) => {
      const rows = byKey(await list(db, table), table);
      const from = await log.end();
      await write(script);
      const { changes } = await readOn(log, from);
      if (world.mayTouch === true && changes.some(({ kind }) => kind === "touch")) return;
      for (const change of changes) apply(change, rows, { table, isWild: world.isWild === true });
      assertEquals(sorted(rows), byKey(await list(db, table), table), "the log leads elsewhere");
    }),
    { numRuns: numRuns * times },
  );
}

type Rows = Map<string, unknown>;

function apply(
  { kind, before, after }: Change,
  rows: Rows,
  { table, isWild }: { readonly table: TableInfo; readonly isWild: boolean },
): void {
  if (before !== null) {
    const was = rows.get(keyOf(before, table));
    // SQLite itself overwrites what a trigger does to a row in the midst of its update.
    if (isWild && kind === "update") assert(was !== undefined, "it was not there");
    else assertEquals(before, was, "it was not so");
    rows.delete(keyOf(before, table));
  }
  if (after === null) return;
  assert(!rows.has(keyOf(after, table)), "the row is there already");
  rows.set(keyOf(after, table), after);
}

function byKey(rows: readonly object[], table: TableInfo): Rows {
  return sorted(new Map(rows.map((row) => [keyOf(row, table), row])));
}

function sorted(rows: Rows): Rows {
  return new Map([...rows].toSorted(([left], [right]) => left < right ? -1 : 1));
}

function keyOf(row: object, { primaryKey }: TableInfo): string {
  const values = new Map(Object.entries(row));
  return JSON.stringify(primaryKey.map(({ name }) => values.get(name)));
}

async function list(db: Database, table: TableInfo): Promise<readonly object[]> {
  const names = table.columns.map((column) => db.dialect.selected(column));
  const query = sql`SELECT ${join(names, ", ")} FROM ${identifier(table.name)}`;
  const { rows } = await db.driver.query(toStatement(query, db.dialect.placeholder));
  return createRowReader(db.dialect, () => {}).toRows(rows, table.columns);
}
