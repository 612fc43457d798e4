import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { createCachingFilterParser } from "../../src/filter/syntax/caching_filter_parser.ts";

Deno.test("a text that came again is not parsed a second time", () => {
  const filters = createCachingFilterParser();
  assertStrictEquals(filters.parse("a==1;b==2"), filters.parse("a==1;b==2"));
});

Deno.test("the least recently used text is evicted first", () => {
  const filters = createCachingFilterParser(2);
  for (const text of ["a==1", "b==1", "c==1"]) filters.parse(text);
  const first = filters.parse("a==1");
  const second = filters.parse("b==1");
  assertStrictEquals(filters.parse("a==1"), first);
  filters.parse("c==1");
  assertStrictEquals(filters.parse("a==1"), first);
  assert(filters.parse("b==1") !== second);
});

Deno.test("the trees of 500 filters were remembered, each of thousands of values", () => {
  const filters = createCachingFilterParser();
  const texts = Array.from({ length: 500 }, (_, index) => {
    const lists = Array.from({ length: 5 }, () => `a=in=(${"1,".repeat(190)}1)`);
    return [...lists, `n==${index}`].join(";");
  });
  for (const text of texts) filters.parse(text);
  const trees = texts.map((text) => filters.parse(text));
  let values = 0;
  // From the last one, because each that is not known takes the place of others.
  for (let index = texts.length - 1; index >= 0; index--) {
    if (filters.parse(texts[index] ?? "") === trees[index]) values += 956;
  }
  assert(values < 50_000, `${values} values`);
});

Deno.test("a shared tree cannot be changed", () => {
  const filters = createCachingFilterParser();
  filters.parse("a==1;(b=in=(2,3),c==4)");
  const syntax = filters.parse("a==1;(b=in=(2,3),c==4)");
  for (const part of parts(syntax)) assert(Object.isFrozen(part));
});

Deno.test("an error is the same the second time, and a blank text is never a filter", () => {
  const filters = createCachingFilterParser();
  for (let i = 0; i < 2; i++) {
    assertThrows(() => filters.parse("a==1)"), Error, "at 4");
    assertEquals(filters.parse(" "), null);
  }
});

function parts(value: unknown): object[] {
  if (typeof value !== "object" || value === null) return [];
  return [value, ...Object.values(value).flatMap(parts)];
}
