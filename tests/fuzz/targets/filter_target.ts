import { assertEquals } from "@std/assert";
import { parseFilter } from "../../../src/filter/syntax/parse_filter.ts";
import {
  filterLengthsInBody,
  type FilterSyntax,
  termsOfSyntax,
} from "../../../src/filter/syntax/filter_syntax.ts";
import { printSyntax } from "../../filter/print_syntax.ts";
import type { FuzzTarget } from "../engine/fuzz_target.ts";
import { isProblem } from "./documented.ts";

/** The filter language. A parsed filter, printed and parsed again, is the same filter. */
export const filterTarget: FuzzTarget = {
  files: [
    "src/filter/syntax/parse_filter.ts",
    "src/filter/syntax/scanner.ts",
    "src/filter/syntax/quoted_name.ts",
    "src/filter/syntax/filter_error.ts",
  ],
  seeds: [
    "",
    `name=contains="% o";age>=18,(role=in=(a,"b c",'d'));not(x!=1)`,
    "members.some(userId==7;role==admin)",
    `a."b.c".none()&&d %= x* || e == null and f != 2`,
    "tags=has=[1,2,3];at>2024-01-01T00:00:00Z",
  ],
  parse: (input) => parseFilter(input, filterLengthsInBody),
  isDocumented: isProblem("filter-parse-error"),
  check(result, input) {
    // The cast is safe: `parse` returns this type.
    const syntax = result as FilterSyntax | null;
    if (syntax === null || holdsInserted(syntax)) return;
    const printed = printSyntax(syntax);
    assertEquals(shapeOf(parseFilter(printed, filterLengthsInBody)), shapeOf(syntax), input);
  },
};

function holdsInserted(syntax: FilterSyntax): boolean {
  return syntax.kind === "inserted" || termsOfSyntax(syntax).some(holdsInserted);
}

/** Returns a syntax tree as JSON without positions. */
function shapeOf(syntax: FilterSyntax | null): unknown {
  return JSON.parse(
    JSON.stringify(syntax, (name, value) => /^(?:at|.*At)$/.test(name) ? undefined : value),
  );
}
