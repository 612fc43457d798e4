import { assertEquals } from "@std/assert";
import { base64urlLength, decodeBase64url, encodeBase64url } from "../../src/protocol/byte_text.ts";
import { base64urlLetters } from "../../src/protocol/pow_protocol.ts";

Deno.test("base64url decodes what it encoded, for every length", () => {
  for (let length = 0; length < 60; length++) {
    const bytes = crypto.getRandomValues(new Uint8Array(length));
    const text = encodeBase64url(bytes);
    assertEquals(text.length, base64urlLength(length));
    const read = new Uint8Array(length);
    assertEquals(decodeBase64url(`..${text}.`, 2, read), true);
    assertEquals(read, bytes);
  }
});

Deno.test("of all texts that a lax decoder accepts for the same bytes, base64url decodes one", () => {
  for (const length of [1, 2, 31, 32]) {
    const bytes = crypto.getRandomValues(new Uint8Array(length));
    const text = encodeBase64url(bytes);
    const taken = [...base64urlLetters].filter((letter) =>
      reads(text.slice(0, -1) + letter, bytes)
    );
    assertEquals(taken, [text.at(-1)]);
  }
});

Deno.test("base64url refuses padding, white space, the standard alphabet and other characters", () => {
  const bytes = new Uint8Array([251, 255, 254, 63]);
  assertEquals(encodeBase64url(bytes), "-__-Pw");
  assertEquals(reads("-__-Pw", bytes), true);
  for (
    const text of ["+//+Pw", "-__-P=", "-__-P", " -__-P", "-__\n-P", "-__-Pé", "-__-P\u{1F600}"]
  ) {
    assertEquals(reads(text, bytes), false, text);
  }
});

function reads(text: string, bytes: Uint8Array): boolean {
  const read = new Uint8Array(bytes.length);
  return decodeBase64url(text, 0, read) && read.toHex() === bytes.toHex();
}
