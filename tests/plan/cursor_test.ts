import { assertEquals } from "@std/assert";
import { countFittingValues, openCursor, sealCursor } from "../../src/plan/cursor.ts";
import { createSealer } from "../../src/runtime/sealer.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import type { SqlValue } from "../../src/sql/fragment.ts";
import { problemOf, tableOf } from "../filter/support.ts";

const { random } = systemRuntime(() => {});
const sealer = createSealer(["a secret of more than thirty-two characters"], random);

/** Lists of a table whose primary key is its first column. */
function listOf(kinds: Parameters<typeof tableOf>[0]) {
  const order = tableOf(kinds).columns.map((column) => ({ column, descending: false }));
  return { resource: "things", order, sealer };
}

Deno.test("a cursor contains the values of a row up to 3,000 bytes, and then its key", () => {
  const list = listOf({ id: "integer", name: "text" });
  const opened = (length: number) => {
    const values: readonly SqlValue[] = [1, "a".repeat(length)];
    return openCursor(sealCursor(values, list, null), list);
  };
  // `[1,"…"]` has six more characters.
  assertEquals(opened(2_994), { kind: "values", values: [1, "a".repeat(2_994)] });
  const row = opened(2_995);
  assertEquals([row.kind, row.kind === "row" ? row.key : null], ["row", [1]]);
});

Deno.test("a key is in a cursor up to 12,000 bytes, and no longer key is", () => {
  const list = listOf({ id: "text" });
  const other = JSON.stringify({ kind: "row", key: [""], hash: "h".repeat(43) }).length;
  const key = ["k".repeat(12_000 - other)];
  const opened = openCursor(sealCursor(key, list, null), list);
  assertEquals(opened.kind === "row" ? opened.key : null, key);
  const { slug, message } = problemOf(() => sealCursor([`${key[0]}k`], list, null));
  assertEquals(slug, "query-too-expensive");
  assertEquals(message.endsWith("page's last row is too long. Request another page size"), true);
});

Deno.test("a page whose cursor would be the one before is refused", () => {
  const list = listOf({ id: "integer", name: "text" });
  const before = { kind: "values", values: [1, "a"] } as const;
  assertEquals(problemOf(() => sealCursor([1, "a"], list, before)).slug, "cursor-invalid");
  assertEquals(openCursor(sealCursor([2, "a"], list, before), list).kind, "values");
});

Deno.test("values fit into a cursor up to 3,000 bytes, the first ones first", () => {
  const cases: readonly (readonly [readonly SqlValue[], number])[] = [
    [[], 0],
    // Quotes and a comma are three bytes.
    [["a".repeat(2_997)], 1],
    [["a".repeat(2_998)], 0],
    [["a".repeat(3_000)], 0],
    [["a".repeat(3_001)], 0],
    [["a".repeat(1_497), "b".repeat(1_497)], 2],
    [["a".repeat(1_497), "b".repeat(1_498)], 1],
    [["é".repeat(1_498)], 1],
    [["é".repeat(1_499)], 0],
    [[new Uint8Array(3_001), "a"], 0],
    [[1, "a".repeat(3_100), 2], 1],
  ];
  for (const [values, count] of cases) assertEquals(countFittingValues(values), count);
});
