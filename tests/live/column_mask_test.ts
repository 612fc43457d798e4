import { assertEquals, assertNotEquals } from "@std/assert";
import { allRows, and, type Filter, noRows, or } from "../../src/filter/filter.ts";
import { equalOperator } from "../../src/filter/operators/operator_registry.ts";
import { columnsReadBy, differingColumns } from "../../src/live/match/matcher.ts";
import { integer } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import type { ColumnInfo, Row } from "../../src/schema/table_info.ts";

const names = Array.from({ length: 70 }, (_, index) => `c${index}`);
const wide = tableInfoOf(table("wide", {
  id: integer().primaryKey(),
  ...Object.fromEntries(names.map((name) => [name, integer()])),
}));
const row: Row = Object.fromEntries(wide.columns.map(({ name }) => [name, 1]));

Deno.test("a filter reads the columns that it compares, however many the table has", () => {
  for (const column of wide.columns) {
    const changed = differingColumns(row, { ...row, [column.name]: 2 }, wide);
    assertNotEquals(changed & columnsReadBy(equals(column), wide), 0, column.name);
    for (const filter of [and(equals(column), equals(first)), or(equals(first), equals(column))]) {
      assertNotEquals(changed & columnsReadBy(filter, wide), 0, column.name);
    }
  }
});

Deno.test("a filter does not read the column beside", () => {
  const [, second] = wide.columns;
  const changed = differingColumns(row, { ...row, [second?.name ?? ""]: 2 }, wide);
  assertEquals(changed & columnsReadBy(equals(first), wide), 0);
  assertEquals([columnsReadBy(allRows, wide), columnsReadBy(noRows, wide)], [0, 0]);
});

Deno.test("values differ where they are not the same, NULL and absent ones too", () => {
  assertEquals(differingColumns(row, { ...row }, wide), 0);
  assertEquals(differingColumns({}, { id: null }, wide), 0);
  const id = columnsReadBy(equals(first), wide);
  for (const [before, after] of [[1, null], [null, 1], [0, -0], [1, 1n], [{}, {}]]) {
    assertEquals(differingColumns({ ...row, id: before }, { ...row, id: after }, wide), id);
  }
});

// The key that the table begins with.
const first = wide.columns[0] as ColumnInfo;

function equals(column: ColumnInfo): Filter {
  return { kind: "compare", column, operator: equalOperator, values: [1] };
}
