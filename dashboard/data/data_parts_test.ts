import { assert, assertEquals } from "@std/assert";
import { parseFilters, printFilters } from "./column_filters.ts";
import { withoutFormulas } from "./csv_formulas.ts";
import { gridWindow, rowHeight } from "./grid_window.ts";
import { RowPages } from "./row_pages.ts";
import { parseFilter } from "../../src/filter/syntax/parse_filter.ts";

Deno.test("a condition on a column is written so that the service and the filter row read it", () => {
  const values = ["tea", "null", 'a "b" \\c', "x;y==1", "ünï code", "=1+1", "-5.00", "2024-01-01"];
  for (const value of values) {
    for (const operator of ["==", "!=", ">=", "=icontains=", "=in="]) {
      const filters = [{ field: "a", operator, value }, {
        field: "b",
        operator: "==null",
        value: "",
      }];
      const text = printFilters(filters);
      parseFilter(text);
      assertEquals(parseFilters(text), filters, text);
    }
  }
  for (const field of ["first name", "a,b", 'say "hi"', "x.y", "-less", "größe", "__proto__"]) {
    const filters = [{ field, operator: "==", value: "1" }, {
      ...{ field: `${field}2`, operator: "!=null", value: "" },
    }];
    parseFilter(printFilters(filters));
    assertEquals(parseFilters(printFilters(filters)), filters);
  }
  assertEquals(parseFilters(printFilters([{ field: "a", operator: "=in=", value: "1,2" }])), [
    { field: "a", operator: "=in=", value: "1,2" },
  ]);
});

Deno.test("a filter that does not fit into columns is left as a text", () => {
  for (const text of ["a==1,b==2", "(a==1)", "a==1;a==2", "a==1;", "a=length=3", "a.b==1", "a=="]) {
    assertEquals(parseFilters(text), null, text);
  }
});

Deno.test("cells that begin like formulas are marked, wherever the chunks of an export end", async () => {
  const csv = 'a,b\r\n=1,"+x,""y"""\r\n-1.5,@z\r\n"line\r\n=2",1e-5\r\n,"\t"\r\n-x';
  const safe = 'a,b\r\n\'=1,"\'+x,""y"""\r\n-1.5,\'@z\r\n"line\r\n=2",1e-5\r\n,"\'\t"\r\n\'-x';
  for (let size = 1; size <= csv.length; size++) {
    const chunks = csv.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
    const parts = await Array.fromAsync(ReadableStream.from(chunks).pipeThrough(withoutFormulas()));
    assertEquals(parts.join(""), safe);
  }
});

Deno.test("the bar of a table of any length reaches its first and its last row", () => {
  for (const rows of [0, 1, 30, 1_000, 1_000_000, 20_000_000]) {
    const height = 600;
    const top = gridWindow({ rows, scrollTop: 0, height });
    assertEquals([top.first, top.above], [0, 0]);
    const drawn = top.above + (top.end - top.first) * rowHeight + top.below;
    assert(drawn <= 15_000_000 + rowHeight);
    const bottom = gridWindow({ rows, scrollTop: Math.max(0, drawn - height), height });
    assertEquals(bottom.end, rows);
    assert(bottom.end - bottom.first < 50);
  }
});

Deno.test("a list keeps a few pages of rows, and reads others again when they come into view", async () => {
  const pageSize = 200;
  let waiting: (() => void) | null = null;
  const pages = new RowPages((cursor) => {
    const start = Number(cursor ?? 0);
    const items = Array.from({ length: pageSize }, (_, at) => ({ id: start + at }));
    const isLast = start + pageSize >= 10_000;
    return Promise.resolve({ items, nextCursor: isLast ? null : String(start + pageSize) });
  }, () => waiting?.());
  const until = (isTrue: () => boolean) =>
    new Promise<void>((resolve) => {
      waiting = () => isTrue() && resolve();
      waiting();
    });
  while (pages.length < 10_000) {
    const { length } = pages;
    pages.show(Math.max(0, length - 30), length);
    await until(() => pages.length > length);
  }
  assertEquals([pages.hasMore, pages.rowAt(9_999), pages.rowAt(0)], [false, { id: 9_999 }, null]);
  assert(pages.keptRows <= 13 * pageSize);
  pages.show(0, 30);
  await until(() => pages.rowAt(0) !== null);
  assertEquals([pages.rowAt(0), pages.length], [{ id: 0 }, 10_000]);
  pages.end();
});
