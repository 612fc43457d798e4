import { assert, assertEquals } from "@std/assert";
import { createCompiler } from "../../src/compile/compile.ts";
import { ShortScans } from "../../src/engines/sqlite/driver/reads/short_scans.ts";
import { allRows, comparison, type Filter } from "../../src/filter/filter.ts";
import { equalOperator } from "../../src/filter/operators/operator_registry.ts";
import { createAggregateColumns } from "../../src/plan/aggregate_columns.ts";
import type { AggregatePlan, CountPlan } from "../../src/plan/plan.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { sqliteDialect } from "../../src/engines/sqlite/sql/dialect.ts";
import { sqliteText } from "../../src/engines/sqlite/sql/text_operators.ts";
import { withoutRowChecks } from "../../src/engines/sqlite/sql/time_check.ts";

const notes = table("notes", {
  id: integer().primaryKey().as('the "id"'),
  rank: integer(),
  label: text(),
});
const named = table("named", { id: text().primaryKey(), rank: integer() });
const compile = createCompiler(sqliteDialect({ text: sqliteText }));

function sizes(rows: number, widest = 100, total = Infinity) {
  let now = 0;
  const scans = new ShortScans({
    clock: { elapsedMs: () => now },
    read: () => rows,
    widestRow: () => widest,
    totalBytes: () => total,
  });
  return {
    scans,
    grow(to: number, afterMs: number) {
      rows = to;
      now += afterMs;
    },
  };
}

function count(where: Filter = allRows, of = tableInfoOf(notes)) {
  const plan: CountPlan = { kind: "count", table: of, where };
  return plan;
}

function grouped(keys: number) {
  const info = tableInfoOf(notes);
  const schema = createAggregateColumns(info, info.columns);
  const plan: AggregatePlan = {
    kind: "aggregate",
    table: info,
    where: allRows,
    keys: [...schema.keys.values()].slice(0, keys),
    metrics: [schema.count],
    having: allRows,
    order: [],
    limit: 10,
  };
  return plan;
}

Deno.test("a count of few rows is short, and one of many is not", () => {
  assert(sizes(10_000).scans.includes(count(), false));
  assert(!sizes(1_000_000).scans.includes(count(), false));
});

Deno.test("the values that a filter compares, and the keys of groups, count for each row", () => {
  const ranks = comparison(equalOperator, tableInfoOf(notes).columns[1]!, [1]);
  const many: Filter = { kind: "and", terms: Array.from({ length: 99 }, () => ranks) };
  assert(!sizes(10_000).scans.includes(count(many), false));
  assert(sizes(2_000).scans.includes(count(many), false));
  assert(sizes(10_000).scans.includes(grouped(2), false));
  assert(!sizes(10_000).scans.includes(grouped(3), false));
});

Deno.test("rows of many bytes are not few", () => {
  assert(!sizes(10_000, 10_000).scans.includes(count(), false));
  assert(!sizes(10, Infinity).scans.includes(count(), false));
});

Deno.test("a statement that was short may examine a table of four times the size", () => {
  assert(!sizes(300_000).scans.includes(count(), false));
  assert(sizes(300_000).scans.includes(count(), true));
  assert(!sizes(1_000_000).scans.includes(count(), true));
  assert(!sizes(300_000, 1_000).scans.includes(count(), true));
  assert(sizes(300_000, Infinity, 60_000_000).scans.includes(count(), true));
  assert(!sizes(300_000, Infinity, 60_000_000).scans.includes(count(), false));
});

Deno.test("a table that has grown is noticed after a tenth of a second", () => {
  const { scans, grow } = sizes(10_000);
  assert(scans.includes(count(), false));
  grow(10_000_000, 99);
  assert(scans.includes(count(), false));
  grow(10_000_000, 1);
  assert(!scans.includes(count(), false));
});

Deno.test("only the keys of own tables that are integers say how many rows there are", () => {
  assert(!sizes(10).scans.includes(count(allRows, tableInfoOf(named)), false));
  const existing = { ...tableInfoOf(notes), own: false };
  assert(!sizes(10).scans.includes(count(allRows, existing), false));
});

Deno.test("a statement loses its checks of rows and nothing else", () => {
  assertEquals(
    withoutRowChecks(compile(count()).text),
    'SELECT count(*) FROM "notes" WHERE 1 AND 1=1',
  );
  for (const keys of [0, 1, 3]) {
    const { text } = compile(grouped(keys));
    assert(text.includes("service_time_check"), text);
    assert(!withoutRowChecks(text).includes("service_time_check"), withoutRowChecks(text));
    assert(!withoutRowChecks(text).includes("HAVING"), withoutRowChecks(text));
  }
});
