import { assertEquals } from "@std/assert";
import { createHmac } from "node:crypto";
import { createHmacSha256 } from "../../src/protocol/hmac_sha256.ts";

Deno.test("HMAC-SHA-256 agrees with the platform on keys and messages of every length", () => {
  for (let length = 0; length <= 150; length++) {
    const key = crypto.getRandomValues(new Uint8Array(length));
    const hmac = createHmacSha256(key);
    for (const size of [0, 48, length, 200]) {
      const message = crypto.getRandomValues(new Uint8Array(size));
      const expected = createHmac("sha256", key).update(message).digest("hex");
      assertEquals(hmac.sign(message).toHex(), expected);
    }
  }
});

Deno.test("HMAC-SHA-256 verifies its own code and none that differs in a bit or in length", () => {
  const hmac = createHmacSha256(new TextEncoder().encode("Jefe"));
  const message = new TextEncoder().encode("what do ya want for nothing?");
  const code = hmac.sign(message);
  // RFC 4231, test case 2.
  const expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
  assertEquals(code.toHex(), expected);
  assertEquals(hmac.verify(message, code), true);
  for (let bit = 0; bit < 256; bit++) {
    const wrong = code.slice();
    wrong[bit >> 3]! ^= 1 << (bit & 7);
    assertEquals(hmac.verify(message, wrong), false);
  }
  assertEquals(hmac.verify(message, code.subarray(0, 31)), false);
  assertEquals(hmac.verify(message, new Uint8Array([...code, 0])), false);
});
