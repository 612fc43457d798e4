import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { parseFilter } from "../../src/filter/syntax/parse_filter.ts";
import { Problem } from "../../src/problem/problem.ts";
import { type FilterSyntax, termsOfSyntax } from "../../src/filter/syntax/filter_syntax.ts";
import { invalidFilters, validFilters } from "./filter_cases.ts";
import { filterOf, problemOf, show, tableOf } from "./support.ts";

Deno.test("every valid text is parsed to its tree", () => {
  for (const [text, tree] of validFilters) {
    assertEquals([text, show(parseFilter(text))], [text, tree]);
  }
});

Deno.test("every error names the first offending character and what was expected there", () => {
  const anything = tableOf({ a: "text", b: "text", scope: "text" });
  for (const [text, position, expected] of invalidFilters) {
    const { details } = problemOf(() => filterOf(text, anything));
    assertEquals([text, details?.position], [text, position]);
    assertStringIncludes(String(details?.expected), expected, text);
  }
});

Deno.test("white space alone is no filter", () => {
  assertEquals(parseFilter(" \t\r\n"), null);
});

Deno.test("the tree has the positions of field, operator and values", () => {
  assertEquals(parseFilter(` (a =in= (1, "2"))`), {
    kind: "compare",
    field: "a",
    fieldAt: 2,
    operator: "=in=",
    operatorAt: 4,
    list: true,
    valuesAt: 9,
    values: [{ text: "1", quoted: false, at: 10 }, { text: "2", quoted: true, at: 13 }],
  });
});

Deno.test("fields may have letters of every script, also outside the basic plane", () => {
  assertEquals(show(parseFilter("žluť𐐀2==1")), "(== žluť𐐀2 #1)");
  assertEquals(positionOf("a👍==1"), 1);
});

Deno.test("a single & or | belongs to a word, a double one ends it", () => {
  assertEquals(show(parseFilter("a==x&y|z&&b==1")), '(and (== a "x&y|z") (== b #1))');
});

Deno.test("an escaped character is taken as it is, whatever it is", () => {
  assertEquals(show(parseFilter(String.raw`a=="\n\👍\\"`)), String.raw`(== a "n👍\\")`);
  assertEquals(positionOf('a=="x\\\0"'), 6);
  assertEquals(positionOf('a=="\\'), 3);
});

Deno.test("a message quotes at most 20 characters of the text", () => {
  const { message } = problemOf(() => parseFilter(`a==1 ${"👍".repeat(100)}`));
  assertStringIncludes(message, `got "${"👍".repeat(10)}"`);
  assert(message.isWellFormed());
  assert(problemOf(() => parseFilter(`a==1 x${"👍".repeat(100)}`)).message.isWellFormed());
});

Deno.test("a message suggests the right syntax for that of other languages", () => {
  const hints: readonly (readonly [filter: string, position: number, hint: string])[] = [
    ["a=1", 1, 'got "=1"; use ==, or a name between two =, as in =in='],
    ["a = 1", 2, 'got "= 1"; use ==, or a name between two =, as in =in='],
    ["(a==1;b=in(1,2))", 7, "; use ==, or a name between two =, as in =in="],
    ["a>2024-01-01T00:00:00 01:00", 22, "; a + in a URL is a space: write %2B"],
    ["a>2024-01-01T00:00:00.123 0100;b==1", 26, "; a + in a URL is a space: write %2B"],
    ["a=in=(2024-01-01T00:00:00Z,2024-01-01T00:00 01:00)", 44, ": write %2B"],
  ];
  for (const [filter, position, hint] of hints) {
    const { message, details } = problemOf(() => parseFilter(filter));
    assertEquals([filter, details?.position, message.endsWith(hint)], [filter, position, true]);
  }
  for (const filter of ["a", "a!1", "a==1 1:00", "a==2024-01-01 01:00"]) {
    assertEquals(/use ==|%2B/.test(problemOf(() => parseFilter(filter)).message), false, filter);
  }
});

Deno.test("a text may have 4,096 characters", () => {
  assert(parseFilter(`a==${"x".repeat(4093)}`) !== null);
  assertEquals(positionOf(`a==${"x".repeat(4094)}`), 4096);
  assertEquals(positionOf(" ".repeat(4097)), 4096);
});

Deno.test("parentheses may be nested 10 deep", () => {
  assertEquals(show(parseFilter(`${"(".repeat(10)}a==1${")".repeat(10)}`)), "(== a #1)");
  assertEquals(positionOf(`${"(".repeat(11)}a==1${")".repeat(11)}`), 10);
  assertEquals(positionOf("(".repeat(4090)), 10);
  assertEquals(show(parseFilter(`${"(".repeat(10)}a=in=(1)${")".repeat(10)}`)), "(=in= a #1)");
});

Deno.test("a filter may have 100 comparisons", () => {
  assert(parseFilter("a==1;".repeat(99) + "a==1") !== null);
  assertEquals(positionOf("a==1;".repeat(100) + "a==1"), 500);
  assertEquals(positionOf("(a==1),".repeat(100) + "(a==1)"), 701);
});

Deno.test("a list may have 200 values, all lists together 1,000", () => {
  const list = (length: number) => `a=in=(${Array(length).fill("1").join(",")})`;
  assert(parseFilter(list(200)) !== null);
  assertEquals(positionOf(list(201)), 406);
  const full = `${list(200)};`.repeat(4);
  assert(parseFilter(`${full}${list(200)}`) !== null);
  assertEquals(positionOf(`${full}${list(200)};b==1`), full.length + list(200).length + 4);
});

Deno.test("long chains and long texts are parsed in one pass", () => {
  const syntax = parseFilter(`a==${"&x|".repeat(1000)}`);
  assert(syntax !== null && syntax.kind === "compare");
  assertEquals(terms(parseFilter("a==1,".repeat(99) + "a==1")), 100);
});

Deno.test("any text is parsed, or refused at a position within it", () => {
  const piece = fc.constantFrom(
    ...["a", "b1", "==", "=in=", ">", "!", "%=", "=", "(", ")", "[", "]", ",", ";", "&&", "||"],
    ...[" ", "and ", " or ", '"', "'", "\\", "\0", "\ud83d", "\udc4d", "👍", "é", "null", "1"],
  );
  const text = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(""));
  fc.assert(
    fc.property(text, (text) => {
      try {
        parseFilter(text);
      } catch (error) {
        assert(error instanceof Problem, String(error));
        const position = Number(error.details?.position);
        assert(position >= 0 && position <= text.length);
        assert(error.message.isWellFormed());
      }
    }),
    { numRuns: 2_000 },
  );
});

function terms(syntax: FilterSyntax | null): number {
  return syntax === null ? 0 : termsOfSyntax(syntax).length;
}

function positionOf(text: string): unknown {
  return problemOf(() => parseFilter(text)).details?.position;
}
