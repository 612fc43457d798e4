import { assertEquals, assertThrows } from "@std/assert";
import { createHash } from "node:crypto";
import { createSha256, midstateAfter } from "../../src/protocol/sha256.ts";

const hasher = createSha256();

Deno.test("SHA-256 gives the digests of FIPS 180-4 and its examples", () => {
  const vectors = {
    "": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    abc: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq:
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
  };
  for (const [text, digest] of Object.entries(vectors)) {
    assertEquals(hasher.digest(new TextEncoder().encode(text)).toHex(), digest);
  }
});

Deno.test("SHA-256 agrees with the platform on every length from 0 to 300, and on long messages", () => {
  for (const length of [...Array(301).keys(), 4096, 65_537]) {
    const message = randomBytes(length);
    assertEquals(hasher.digest(message).toHex(), platformDigest(message), `length ${length}`);
  }
});

Deno.test("SHA-256 hashes a view that begins in the middle of its buffer", () => {
  const message = randomBytes(100).subarray(7, 80);
  assertEquals(hasher.digest(message).toHex(), platformDigest(message));
});

Deno.test("a hash continues from the midstate after any number of whole blocks", () => {
  const message = randomBytes(300);
  for (const bytes of [0, 64, 128, 256]) {
    const rest = message.slice(bytes);
    const words = hasher.words(rest, rest.length, midstateAfter(message.subarray(0, bytes)));
    assertEquals(hexOf(words), platformDigest(message));
  }
  assertThrows(() => midstateAfter(message.subarray(0, 63)), RangeError);
});

function platformDigest(message: Uint8Array): string {
  return createHash("sha256").update(message).digest("hex");
}

function randomBytes(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 65_536) {
    crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  }
  return bytes;
}

function hexOf(words: Int32Array): string {
  return Array.from(words, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}
