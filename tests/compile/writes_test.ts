import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { and, eq, integer, ne, table, text } from "../../mod.ts";
import { createCompiler } from "../../src/compile/compile.ts";
import {
  databaseDefault,
  incrementedValue,
  type InsertPlan,
  keepStoredValue,
  type UpdatePlan,
} from "../../src/plan/plan.ts";
import { postgresDialect } from "../../src/engines/postgres/sql/dialect.ts";
import { sqliteDialect } from "../../src/engines/sqlite/sql/dialect.ts";
import { noText } from "../sql/round_trip.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";

const declared = ["notes", "=notes"].map((name) =>
  table(name, {
    id: integer().primaryKey(),
    owner: text(),
    // Its name is the name of another column with the mark of a default.
    "=owner": text(),
    rank: integer().default(5),
  })
);
const infos = declared.map(tableInfoOf);
const returnings = infos.flatMap(({ columns }) => [columns, columns.slice(0, 2)]);
const cell = fc.constantFrom<unknown>(null, 1, 2, databaseDefault);

const insert = fc.record({
  index: fc.nat(1),
  given: fc.uniqueArray(fc.nat(3), { maxLength: 4 }),
  rows: fc.array(fc.array(fc.option(cell, { nil: undefined }), { minLength: 4, maxLength: 4 }), {
    minLength: 1,
    maxLength: 3,
  }),
  returning: fc.nat(1),
  owner: fc.option(fc.constantFrom("ada", "bob"), { nil: null }),
});

const update = fc.record({
  index: fc.nat(1),
  given: fc.uniqueArray(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 3 }),
  cells: fc.array(
    fc.constantFrom<unknown>(null, 1, 2, databaseDefault, incrementedValue, keepStoredValue),
    { minLength: 3, maxLength: 3 },
  ),
  returning: fc.nat(1),
  owner: fc.option(fc.constantFrom("ada", "bob"), { nil: null }),
  id: fc.nat(2),
  where: fc.tuple(fc.constant(true), fc.boolean(), fc.boolean()),
});

const dialects = {
  SQLite: sqliteDialect({ text: noText }),
  Postgres: postgresDialect({ text: noText }),
};

for (const [engine, dialect] of Object.entries(dialects)) {
  Deno.test(`an INSERT is the same with and without a cache (${engine})`, () => {
    const caching = createCompiler(dialect);
    fc.assert(
      fc.property(insert, ({ index, given, rows, returning, owner }) => {
        const info = infos[index]!;
        const columns = given.map((at) => info.columns[at]!);
        const cellsOf = (cells: typeof rows[number]) =>
          new Map(
            columns.flatMap((column, at) =>
              cells[at] === undefined ? [] : [[column, cells[at]] as const]
            ),
          );
        const canRequire = dialect.requireRow !== null && owner !== null;
        const plan: InsertPlan = {
          kind: "insert",
          table: info,
          columns,
          rows: rows.map(cellsOf),
          returning: returnings[2 * index + returning]!,
          ...(canRequire ? { within: eq(declared[index]!.owner, owner) } : {}),
        };
        const { text, values } = createCompiler(dialect)(plan);
        const cached = caching(plan);
        assertEquals([cached.text, cached.values], [text, values]);
      }),
      { numRuns: 1_000 },
    );
  });

  Deno.test(`an UPDATE of one row is the same with and without a cache (${engine})`, () => {
    const caching = createCompiler(dialect);
    let hits = 0;
    const known = new Set<string>();
    fc.assert(
      fc.property(update, ({ index, given, cells, returning, owner, id, where }) => {
        const { columns } = infos[index]!;
        const notes = declared[index]!;
        const conditions = [eq(notes.id, id), eq(notes.rank, 3), ne(notes.owner, "cem")];
        const canRequire = dialect.requireRow !== null && owner !== null;
        const plan: UpdatePlan = {
          kind: "update",
          table: infos[index]!,
          set: new Map(given.map((at, place) => [columns[at]!, cells[place]])),
          where: and(...conditions.filter((_, at) => where[at])),
          returning: returnings[2 * index + returning]!,
          ...(canRequire ? { within: eq(notes.owner, owner) } : {}),
        };
        const { text, values } = createCompiler(dialect)(plan);
        const cached = caching(plan);
        assertEquals([cached.text, cached.values], [text, values]);
        if (known.has(text)) hits++;
        known.add(text);
      }),
      { numRuns: 1_000 },
    );
    assert(hits > 100, `${hits} statements were repeated`);
  });
}
