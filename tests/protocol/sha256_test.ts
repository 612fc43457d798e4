import { assertEquals, assertThrows } from "@std/assert";
import { createHash } from "node:crypto";
import { compress, scheduleWords, sha256, stateAfter } from "../../src/protocol/sha256.ts";

Deno.test("SHA-256 gives the digests of FIPS 180-4 and its examples", () => {
  const vectors = {
    "": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    abc: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq:
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
  };
  for (const [text, digest] of Object.entries(vectors)) {
    assertEquals(sha256(new TextEncoder().encode(text)).toHex(), digest);
  }
});

Deno.test("SHA-256 agrees with the platform on every length from 0 to 300, and on long messages", () => {
  for (const length of [...Array(301).keys(), 4096, 65_537]) {
    const message = randomBytes(length);
    assertEquals(sha256(message).toHex(), platformDigest(message), `length ${length}`);
  }
});

Deno.test("SHA-256 hashes a view that begins in the middle of its buffer", () => {
  const message = randomBytes(100).subarray(7, 80);
  assertEquals(sha256(message).toHex(), platformDigest(message));
});

Deno.test("a hash continues from the state after any number of whole blocks", () => {
  const message = randomBytes(256);
  for (const bytes of [0, 64, 128, 192]) {
    const state = stateAfter(message.subarray(0, bytes));
    const view = new DataView(message.buffer);
    for (let at = bytes; at < message.length; at += 64) {
      const schedule = new Int32Array(scheduleWords);
      for (let i = 0; i < 16; i++) schedule[i] = view.getInt32(at + 4 * i);
      compress(state, schedule);
    }
    assertEquals(state, stateAfter(message));
  }
  assertThrows(() => stateAfter(message.subarray(0, 63)), RangeError);
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
