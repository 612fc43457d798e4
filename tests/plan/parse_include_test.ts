import { assert, assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { type IncludeSyntax, parseInclude } from "../../src/plan/parse_include.ts";
import { Problem } from "../../src/problem/problem.ts";
import { problemOf } from "../filter/support.ts";

/** `a[limit=2 filter=x](b, c)` */
function show(items: readonly IncludeSyntax[]): string {
  return items.map(({ name, options, include }) => {
    const told = [...options].map(([option, value]) => `${option}=${value}`).join(" | ");
    return name + (told === "" ? "" : `[${told}]`) +
      (include.length === 0 ? "" : `(${show(include)})`);
  }).join(", ");
}

const read = (text: string) => show(parseInclude(text));
const refusal = (text: string) => problemOf(() => parseInclude(text)).message;

Deno.test("items, options and nesting are parsed as written", () => {
  for (
    const [text, tree] of [
      ["", ""],
      [" \t", ""],
      ["a", "a"],
      [" a , b ", "a, b"],
      ["Album Track,člen,constructor", "Album Track, člen, constructor"],
      [
        "Album(limit:2;orderBy:Title:asc;include:Track(select:Name))",
        "Album[limit=2 | orderBy=Title:asc](Track[select=Name])",
      ],
      [
        "a( limit:2 ; select: x,y ;include: b , c ) , d",
        "a[limit=2 | select=x,y](b, c), d",
      ],
      ["a( limit : 2 ;filter :x==1;include : b)", "a[limit=2 | filter=x==1](b)"],
      ["a( count : true ; sum : v )", "a[count=true | sum=v]"],
      ["a(include:b(include:c(limit:1);limit:2);limit:3)", "a[limit=3](b[limit=2](c[limit=1]))"],
      ["a(select:)", "a[select=]"],
      ["a(select:Unit (price);limit:1)", "a[select=Unit (price) | limit=1]"],
    ]
  ) assertEquals([text, read(text ?? "")], [text, tree]);
});

Deno.test("a dot is short for include, and items of one name are merged", () => {
  for (
    const [text, tree] of [
      ["a.b", "a(b)"],
      ["a.b.c", "a(b(c))"],
      ["a,a.b", "a(b)"],
      ["a.b,a.c,a.b", "a(b, c)"],
      ["a.b,a(limit:2)", "a[limit=2](b)"],
      ["a(limit:2),a.b(limit:1)", "a[limit=2](b[limit=1])"],
      ["a.b,a(include:b.c)", "a(b(c))"],
      ["a . b", "a(b)"],
    ]
  ) assertEquals([text, read(text ?? "")], [text, tree]);
});

Deno.test("a filter keeps its quotes, parentheses and ;, and ends where an option follows", () => {
  for (
    const [text, filter] of [
      ["a(filter:x==1)", "x==1"],
      ["a(filter:x==1;y==2)", "x==1;y==2"],
      ["a(filter:x==1;y==2;limit:3)", "x==1;y==2"],
      ["a(filter:x==1 ; limit:3)", "x==1 "],
      ["a(limit:3;filter:x=in=(1,2),(y==1;z==2))", "x=in=(1,2),(y==1;z==2)"],
      ["a(filter:x==';limit:3)';limit:3)", "x==';limit:3)'"],
      [`a(filter:x=="a\\");limit:3";limit:3)`, `x=="a\\");limit:3"`],
      ["a(filter:(x==1;limit:y==2);limit:3)", "(x==1;limit:y==2)"],
      ["a(filter:x==1;lmit:3)", "x==1;lmit:3"],
      ["a(filter:;limit:3)", ""],
    ]
  ) {
    const [item] = parseInclude(text ?? "");
    assertEquals([text, item?.options.get("filter")], [text, filter]);
  }
});

Deno.test("an error names its position", () => {
  assertMatch(refusal(","), /at 0: expected the name of a relation, got ","/);
  assertMatch(refusal("a,"), /at 2: expected the name of a relation, got the end/);
  assertMatch(refusal("a..b"), /at 2: expected the name/);
  assertMatch(refusal("a()"), /at 2: expected one of select:/);
  assertMatch(refusal("a(limit:1"), /at 9: expected ";" or "\)" for the "\(" at 1/);
  assertMatch(refusal("a(limit:1))"), /at 10: expected "," or the end/);
  assertMatch(refusal("a(limit:1)b"), /at 10: expected "," or the end/);
  assertMatch(refusal("a(limit:1;)"), /at 10: expected one of/);
  assertMatch(refusal("a(Limit:1)"), /at 2: expected one of/);
  assertMatch(refusal("a(limit:1;select:b;limit:2)"), /limit occurs twice, again at 19/);
  assertMatch(refusal("a(limit:1),a(select:b)"), /"a" at 12: it has options already/);
  assertMatch(refusal("a.b(limit:1),a(include:b(limit:1))"), /"b" at 24: it has options/);
  assertMatch(refusal("a.b.c.d"), /at most 3 levels/);
  assertMatch(refusal("a(include:b(include:c(include:d)))"), /at most 3 levels/);
  assertMatch(refusal("a(include:)"), /at 10: expected the name/);
  assertMatch(refusal("a".repeat(5000)), /at most 4096 characters/);
  assertMatch(refusal(Array.from({ length: 17 }, (_, i) => `r${i}`).join()), /16 relations/);
  const open = problemOf(() => parseInclude("a(filter:x=='b)"));
  assertEquals([open.slug, open.details?.position], ["filter-parse-error", 3]);
});

Deno.test("no text makes the parser fail in another way, or take long", () => {
  const parts = ["a", "b.", "(", ")", ";", ",", "'", '"', "\\", ":", " ", "limit:", "filter:"];
  const more = ["include:", "select:x", "x==1", "(y==2)", "\u{1f44d}", "\ud800", "\0", "[", "é"];
  const text = fc.array(fc.constantFrom(...parts, ...more), { maxLength: 40 })
    .map((list) => list.join(""));
  fc.assert(
    fc.property(text, (include) => {
      try {
        parseInclude(include);
      } catch (error) {
        assert(error instanceof Problem && error.status === 400, String(error));
      }
    }),
    { numRuns: 20_000 },
  );
  const long = [";", "(", "a(filter:'", "a(filter:;", "a(filter: ", "a(filter:((", "a.", "a,"];
  for (const beginning of long) {
    const began = performance.now();
    problemOf(() => parseInclude(beginning.padEnd(4096, beginning.slice(-2))));
    assert(performance.now() - began < 1_000, beginning);
  }
});
