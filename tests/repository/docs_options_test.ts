import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { readPages, tidy, withOptionTables } from "../../dev/docs_options.ts";

for (const subject of ["service", "resource", "database"] as const) {
  Deno.test(`the tables of a ${subject} are those that deno task docs:options writes`, () => {
    const pages = readPages(subject);
    assertEquals(pages.map(tidy), withOptionTables(subject, pages).map(tidy));
  });
}

Deno.test("wrong defaults are corrected, and missing options get a row, on each page", () => {
  const rows = [
    ["service", "| `bodyTimeoutMs` | 10,000 |", "| `bodyTimeoutMs` | 9 |"],
    ["resource", "| `id` | required |", "| `id` | none |"],
    ["service", "| `health` | `true` |", "| `health` | `false` |"],
    ["service", "| `port` | 8000 |", "| `port` | 80 |"],
    ["service", "| `capacity` | required |", "| `capacity` | 1 |"],
    ["database", "| `maxConnections` | 10 |", "| `maxConnections` | 5 |"],
    ["resource", '| `algorithm` | `"weak"` |', '| `algorithm` | `"strong"` |'],
  ] as const;
  for (const [subject, right, wrong] of rows) {
    const pages = readPages(subject).map(tidy);
    assertStringIncludes(pages.join(), right);
    const changed = pages.map((page) => page.replace(right, wrong));
    assertEquals(withOptionTables(subject, changed).map(tidy), pages);
  }
  const without = readPages("service").map((page) => page.replace(/^\| `maxAge` .*\n/m, ""));
  assertStringIncludes(
    withOptionTables("service", without).join(),
    "| `maxAge` | 600 | a whole number from 0 on |\n\n",
  );
});

Deno.test("a row of no option is a fault", () => {
  const wrong = readPages("service").map((page) => page.replace("| `maxAge` ", "| `maxAges` "));
  assertThrows(
    () => withOptionTables("service", wrong),
    Error,
    "There is no option cors maxAges",
  );
});
