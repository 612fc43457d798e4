import { assert, assertEquals } from "@std/assert";
import { TextMemo } from "../../src/runtime/bounded_map.ts";

const bound = { maxBytes: 1_000, bytesOf: (text: string) => text.length };

Deno.test("a text comes again at its second time, however long it is", () => {
  const memo = new TextMemo<number>(10, bound);
  for (const text of ["", "a", "rank>1", "x".repeat(100_000)]) {
    assert(!memo.comesAgain(text), text.slice(0, 10));
    assert(memo.comesAgain(text), text.slice(0, 10));
  }
});

Deno.test("of many texts that come once hardly any is taken for one that came before", () => {
  const memo = new TextMemo<number>(10, bound);
  const texts = Array.from({ length: 1_000 }, (_, index) => `status==published;id>-${index}`);
  assert(texts.filter((text) => memo.comesAgain(text)).length < 5);
});

Deno.test("what was made from texts is kept within the bound", () => {
  const memo = new TextMemo<number>(10, bound);
  memo.keep("a", 1);
  assertEquals(memo.get("a"), 1);
  memo.keep("x".repeat(600), 2);
  assertEquals(memo.get("x".repeat(600)), undefined);
});
