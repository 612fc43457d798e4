import { assert, assertEquals } from "@std/assert";
import { charactersFoldingTo, fold, isAscii } from "../../src/sql/fold.ts";

Deno.test("folding is lower case, character by character", () => {
  assertEquals(fold("AbC ÉŽ Я Ω 𐐀"), "abc éž я ω 𐐨");
  assertEquals(fold("ẞ"), "ß");
  assertEquals(fold("E\u0301"), "e\u0301");
});

Deno.test("a final sigma folds to a sigma, in any position", () => {
  for (const word of ["ΟΔΟΣ", "οδος", "οδοσ", "ΟΔΟς"]) assertEquals(fold(word), "οδοσ");
});

Deno.test("what would fold to ASCII stays", () => {
  assertEquals(fold("İ\u212aIK"), "İ\u212aik");
});

Deno.test("every character folds to one that stays, and never across the border of ASCII", () => {
  for (const character of everyCharacter()) {
    const folded = fold(character);
    assertEquals(fold(folded), folded);
    assertEquals([...folded].length, 1);
    assertEquals(isAscii(folded), isAscii(character));
  }
});

Deno.test("what folds to a character is known for all of Unicode", () => {
  const expected = new Map<string, Set<string>>();
  for (const character of everyCharacter()) {
    const folded = fold(character);
    if (folded === character) continue;
    expected.set(folded, (expected.get(folded) ?? new Set()).add(character));
  }
  for (const [folded, others] of expected) {
    assertEquals(new Set(charactersFoldingTo(folded)), others);
  }
  for (const character of "ſİ\u212a1ς") assertEquals(charactersFoldingTo(character), "");
});

Deno.test("folding a long text takes time in proportion to it", () => {
  assert(fold("Σİ".repeat(200_000)).length === 400_000);
});

function* everyCharacter(): Generator<string> {
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code < 0xd800 || code > 0xdfff) yield String.fromCodePoint(code);
  }
}
