import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { createCachingFilterParser } from "../../src/filter/syntax/caching_filter_parser.ts";

Deno.test("a recently parsed text is not parsed again", () => {
  const filters = createCachingFilterParser();
  assertStrictEquals(filters.parse("a==1;b==2"), filters.parse("a==1;b==2"));
});

Deno.test("the least recently used text is evicted first", () => {
  const filters = createCachingFilterParser(2);
  const first = filters.parse("a==1");
  const second = filters.parse("b==1");
  assertStrictEquals(filters.parse("a==1"), first);
  filters.parse("c==1");
  assertStrictEquals(filters.parse("a==1"), first);
  assert(filters.parse("b==1") !== second);
});

Deno.test("a shared tree cannot be changed", () => {
  const syntax = createCachingFilterParser().parse("a==1;(b=in=(2,3),c==4)");
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
