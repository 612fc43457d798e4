import { assertEquals } from "@std/assert";
import { integer, text, timestamp } from "../../src/schema/column_builder.ts";
import { canRelate } from "../../src/schema/relation.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import type { ColumnInfo, DatabaseType } from "../../src/schema/table_info.ts";

const { byName } = tableInfoOf(table("things", {
  id: integer().primaryKey(),
  name: text(),
  at: timestamp(),
}));

function column(name: string, more: Partial<ColumnInfo> = {}): ColumnInfo {
  const found = byName.get(name);
  if (found === undefined) throw new Error(`No column ${name}`);
  return { ...found, ...more };
}

function ofType(sqlName: string): Partial<ColumnInfo> {
  const databaseType: DatabaseType = {
    ...{ sqlName, shape: { kind: "text" }, ordered: true },
    ...{ hasExtremes: true, ignoresCase: false },
  };
  return { databaseType };
}

Deno.test("columns relate where their values have a common, exact equality", () => {
  const seconds = { timestampFormat: "epoch-seconds" } as const;
  for (
    const [own, other, expected] of [
      [column("id"), column("id", { kind: "bigint" }), true],
      [column("id"), column("name"), false],
      [column("id", { kind: "real" }), column("id", { kind: "real" }), false],
      [column("at"), column("at"), true],
      [column("at"), column("at", seconds), false],
      // An enum and a text, or two enums, have no comparison in the database.
      [column("name", ofType("region")), column("name", ofType("region")), true],
      [column("name", ofType("region")), column("name", ofType("mood")), false],
      [column("name"), column("name", ofType("region")), false],
    ] as const
  ) {
    assertEquals(canRelate(own, other), expected);
  }
});
