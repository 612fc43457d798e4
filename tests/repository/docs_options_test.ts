import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { tidy, withOptionTables } from "../../dev/docs_options.ts";
import { root } from "./module_graph.ts";

const document = Deno.readTextFileSync(`${root}docs/configuration.md`);

Deno.test("the tables of docs/configuration.md are those that deno task docs:options writes", () => {
  assertEquals(tidy(document), tidy(withOptionTables(document)));
});

Deno.test("wrong defaults are corrected, and missing options get a row, in each chapter", () => {
  const rows = [
    ["| `bodyTimeoutMs` | 10,000 |", "| `bodyTimeoutMs` | 9 |"],
    ["| `id` | required |", "| `id` | none |"],
    ["| `health` | `true` |", "| `health` | `false` |"],
    ["| `port` | 8000 |", "| `port` | 80 |"],
    ["| `capacity` | required |", "| `capacity` | 1 |"],
    ["| `maxConnections` | 10 |", "| `maxConnections` | 5 |"],
    ['| `algorithm` | `"weak"` |', '| `algorithm` | `"strong"` |'],
  ] as const;
  for (const [right, wrong] of rows) {
    const text = tidy(document);
    assertStringIncludes(text, right);
    assertEquals(tidy(withOptionTables(text.replace(right, wrong))), text);
  }
  const without = document.replace(/^\| `maxAge` .*\n/m, "");
  assertStringIncludes(
    withOptionTables(without),
    "| `maxAge` | 600 | a whole number from 0 on |\n\n",
  );
});

Deno.test("a row of no option is a fault", () => {
  const wrong = document.replace("| `maxAge` ", "| `maxAges` ");
  assertThrows(() => withOptionTables(wrong), Error, "There is no option cors maxAges");
});
