import { assertEquals } from "@std/assert";
import { sql, toStatement } from "../../src/sql/fragment.ts";

Deno.test("sql`` nests fragments and keeps values apart", () => {
  const inner = sql`a = ${1}`;
  assertEquals(toStatement(sql`select ${inner} and b = ${"x"}`, (n) => `$${n}`), {
    text: "select a = $1 and b = $2",
    values: [1, "x"],
  });
});
