/**
 * The cost of `db.sql`, compared with `db.query`, which neither binds by column kind nor decodes.
 * Both alternate on a SQLite in memory, so that other work affects both.
 *
 * deno run -A bench/statement_bench.ts
 */
import { openDatabase } from "../src/engines/open_database.ts";
import { integer, text, timestamp } from "../src/schema/column_builder.ts";
import { table } from "../src/schema/table.ts";
import { median } from "./figures.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull(),
  remindAt: timestamp().as("remind_at"),
});
const rounds = 40;
const runsOfRound = 1_000;

const db = await openDatabase("sqlite::memory:");
await db.createTables([notes]);
await db.sql`INSERT INTO ${notes} (${notes.id}, ${notes.title}, ${notes.remindAt})
  VALUES (${1}, ${"Buy milk"}, ${"2026-01-31T12:00:00Z"})`;

const select = `SELECT "id", "title", "remind_at" FROM "notes" WHERE "id" = ?`;
const update = `UPDATE "notes" SET "title" = ? WHERE "id" = ?`;

await compare(
  "select one row",
  () => db.query({ text: select, values: [1] }),
  () =>
    db.sql`SELECT ${notes.id}, ${notes.title}, ${notes.remindAt} FROM ${notes}
      WHERE ${notes.id} = ${1}`,
);
await compare(
  "select two columns that need no decoding",
  () => db.query({ text: select, values: [1] }),
  () => db.sql`SELECT ${notes.id}, ${notes.title} FROM ${notes} WHERE ${notes.id} = ${1}`,
);
await compare(
  "update one row",
  () => db.query({ text: update, values: ["Buy milk", 1] }),
  () => db.sql`UPDATE ${notes} SET ${notes.title} = ${"Buy milk"} WHERE ${notes.id} = ${1}`,
);
await db.close();

async function compare(
  name: string,
  query: () => PromiseLike<unknown>,
  statement: () => PromiseLike<unknown>,
): Promise<void> {
  const pairs: [query: number, statement: number][] = [];
  await timed(query);
  await timed(statement);
  for (let round = 0; round < rounds; round++) {
    pairs.push([await timed(query), await timed(statement)]);
  }
  const ratio = median(pairs.map(([query, statement]) => statement / query));
  const [queryUs = 0, sqlUs = 0] = [0, 1].map((side) => median(pairs.map((pair) => pair[side]!)));
  console.log(
    `${name}: db.query ${queryUs.toFixed(1)} µs, db.sql ${sqlUs.toFixed(1)} µs, ratio ${
      ratio.toFixed(2)
    }`,
  );
}

async function timed(work: () => PromiseLike<unknown>): Promise<number> {
  const start = performance.now();
  for (let run = 0; run < runsOfRound; run++) await work();
  return (performance.now() - start) * 1_000 / runsOfRound;
}
