import { assert, assertEquals } from "@std/assert";
import { compareText } from "../../src/schema/kinds/text_kind.ts";
import { countCodePoints, firstCodePoints, upperBoundOfPrefix } from "../../src/sql/code_points.ts";

Deno.test("a surrogate pair is one character, a combining mark is another", () => {
  assertEquals(["", "abc", "👍👍", "e\u0301", "a👍b"].map(countCodePoints), [0, 3, 2, 2, 3]);
});

Deno.test("the end of a prefix is above all texts that begin with it, and below all others above", () => {
  assertEquals(upperBoundOfPrefix("ab"), "ac");
  assertEquals(upperBoundOfPrefix("a\ud7ff"), "a\ue000");
  assertEquals(upperBoundOfPrefix("a\uffff"), "a\u{10000}");
  assertEquals(upperBoundOfPrefix("a\u{10ffff}\u{10ffff}"), "b");
  assertEquals(upperBoundOfPrefix("\u{10ffff}"), null);
  assertEquals(upperBoundOfPrefix(""), null);
  for (const prefix of ["a", "👍", "\uffff", "\u{10ffff}a"]) {
    const end = upperBoundOfPrefix(prefix)!;
    assert(compareText(`${prefix}\u{10ffff}`, end) < 0);
    assert(compareText(prefix, end) < 0);
  }
});

Deno.test("the first code points do not split a surrogate pair", () => {
  const first = (text: string) => [1, 2, 3].map((count) => firstCodePoints(text, count));
  assertEquals(first(""), [null, null, null]);
  assertEquals(first("abc"), ["a", "ab", null]);
  assertEquals(first("👍a👍"), ["👍", "👍a", null]);
  assertEquals(first("👍👍👍👍"), ["👍", "👍👍", "👍👍👍"]);
});
