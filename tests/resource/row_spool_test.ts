import { assert, assertEquals } from "@std/assert";
import { integer, json, real, table, text } from "../../mod.ts";
import { PreparedRow, RowShaper } from "../../src/resource/import/row_chunks.ts";
import { RowSpool } from "../../src/resource/import/row_spool.ts";
import { parseJson } from "../../src/schema/exact_json.ts";
import type { ColumnInfo } from "../../src/schema/table_info.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";

const things = table("things", {
  id: integer().primaryKey(),
  title: text(),
  size: real(),
  data: json(),
});

Deno.test("rows come out of the file of an import as they went in, whatever their columns and values", async () => {
  const info = tableInfoOf(things);
  const [id, title, size, data] = info.columns;
  assert(id !== undefined && title !== undefined && size !== undefined && data !== undefined);
  const document = parseJson('{"a":12345678901234567890.5,"\\n":[1e400,9007199254740993]}');
  const given: readonly (readonly [ColumnInfo, unknown])[][] = [
    [[id, 1], [title, "12345678901234567890"], [size, 0.30000000000000004]],
    [[id, 2], [title, null], [size, 1e21]],
    [[title, "a\nb \u2028 ☃"], [id, 3]],
    [[id, 9007199254740993n], [size, -1e-7]],
    [[id, 5], [data, document]],
    [[id, 6], [data, [true, { "__proto__": 1 }]]],
    [],
  ];
  const shaper = new RowShaper();
  await using spool = new RowSpool(info);
  const written: unknown[] = [];
  // Beyond the limit of the memory from the second on.
  for (let slice = 0; slice < 3; slice++) {
    const rows = given.map((values, at) =>
      new PreparedRow(slice * 10 + at, shaper.shaped(new Map(values)))
    );
    written.push(...rows.map(({ line, values }) => [line, values.toMap()]));
    await spool.add(rows, 3_000_000);
  }
  for (let reading = 0; reading < 2; reading++) {
    const read: unknown[] = [];
    for await (const slice of spool.slices()) {
      read.push(...slice.map(({ line, values }) => [line, values.toMap()]));
    }
    assertEquals(read, written);
  }
});
