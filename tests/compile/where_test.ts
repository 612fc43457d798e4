import { assertThrows } from "@std/assert";
import { compileFilter } from "../../src/compile/where.ts";
import type { Filter } from "../../src/filter/filter.ts";
import type { Dialect } from "../../src/sql/dialect.ts";

Deno.test("a value that is no filter throws instead of becoming a condition", () => {
  for (const wrong of [true, { kind: "every" }]) {
    const compile = () => compileFilter(wrong as unknown as Filter, {} as Dialect);
    assertThrows(compile, Error);
  }
});
