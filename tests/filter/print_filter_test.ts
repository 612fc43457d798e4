import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { parseFilter } from "../../src/filter/syntax/parse_filter.ts";
import { printFilter } from "../../src/filter/syntax/print_filter.ts";
import { printSyntax } from "./print_syntax.ts";
import {
  type ComparisonSyntax,
  type FilterSyntax,
  termsOfSyntax,
} from "../../src/filter/syntax/filter_syntax.ts";
import { all, none } from "../../src/filter/builders.ts";
import { validFilters } from "./filter_cases.ts";
import { filterOf, problemOf, show, tableOf } from "./support.ts";

const word = fc.string({ unit: fc.constantFrom(..."abz019.-_%*:&|é👍\\"), minLength: 1 })
  .filter((text) => !text.includes("&&") && !text.includes("||"));
const quoted = fc.string({ unit: fc.constantFrom(..."ab ,;()[]=!<>~\"'\\&|é👍\t\n") });
const literal = fc.oneof(
  word.map((text) => ({ text, quoted: false, at: 0 })),
  quoted.map((text) => ({ text, quoted: true, at: 0 })),
);
const comparison: fc.Arbitrary<ComparisonSyntax> = fc.record({
  kind: fc.constant("compare" as const),
  field: fc.constantFrom("a", "and", "or", "$x.y", "č1", "_"),
  fieldAt: fc.constant(0),
  operator: fc.constantFrom("==", "!=", ">", ">=", "<", "<=", "%=", "!%=", "=in=", "=near="),
  operatorAt: fc.constant(0),
  list: fc.boolean(),
  valuesAt: fc.constant(0),
  values: fc.array(literal, { minLength: 1, maxLength: 4 }),
}).map((syntax) => syntax.list ? syntax : { ...syntax, values: syntax.values.slice(0, 1) });
const { tree } = fc.letrec<{ tree: FilterSyntax }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3 },
    comparison,
    fc.record({
      kind: fc.constantFrom("and" as const, "or" as const),
      terms: fc.array(tie("tree"), { minLength: 2, maxLength: 3 }),
    }),
    fc.record({ kind: fc.constant("not" as const), term: tie("tree") }),
    fc.record({
      kind: fc.constantFrom("some" as const, "none" as const, "every" as const),
      path: fc.array(fc.constantFrom("members", "a b", "some", "x.y"), {
        minLength: 1,
        maxLength: 3,
      }),
      pathAt: fc.constant(0),
      term: tie("tree"),
    }),
  ),
}));

Deno.test("a printed tree parses to the same tree", () => {
  fc.assert(fc.property(tree, (syntax) => {
    assertEquals(withoutPlaces(parseFilter(printSyntax(syntax))!), withoutPlaces(syntax));
  }));
});

Deno.test("every valid text, parsed and printed, means the same", () => {
  for (const [text] of validFilters) {
    const syntax = parseFilter(text);
    if (syntax !== null) assertEquals(show(parseFilter(printSyntax(syntax))), show(syntax));
  }
});

Deno.test("a printed filter parses to the same filter", () => {
  const things = tableOf({
    age: "integer",
    name: "text",
    ts: "timestamp",
    ok: "boolean",
    doc: "json",
  });
  const filters = [
    "age==18;(name==x,ok==true);ts>2024-01-01",
    'age=in=(1,-2,9007199254740993),name%="\\"%\\\\\\\\"',
    "name=length=3;age=between=(1,2);ok==null",
    'name=="null",name==true;name=isempty=true',
    'doc=hasany=(1,"1",true);doc=hasall=("a",-2),doc=has="1"',
    'doc.a."b c"==1.5;doc.0=in=(1,true,"1",x),doc.a=isnull=true;doc."a.b"%="x%"',
  ];
  for (const text of filters) {
    const filter = filterOf(text, things);
    assertEquals(filterOf(printFilter(filter), things), filter);
  }
});

Deno.test("all prints as the empty text, none as a text that does not parse", () => {
  assertEquals(parseFilter(printFilter(all())), null);
  problemOf(() => parseFilter(printFilter(none())));
});

function withoutPlaces(syntax: FilterSyntax): unknown {
  if (syntax.kind !== "compare") {
    const path = "path" in syntax ? syntax.path : [];
    return { kind: syntax.kind, path, terms: termsOfSyntax(syntax).map(withoutPlaces) };
  }
  const { field, operator, list, values } = syntax;
  return { field, operator, list, values: values.map(({ text, quoted }) => [text, quoted]) };
}
