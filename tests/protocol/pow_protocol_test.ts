import { assertEquals } from "@std/assert";
import { hasLeadingZeroBits } from "../../src/protocol/pow_protocol.ts";

Deno.test("a digest with exactly n leading zero bits passes for n and not for n + 1", () => {
  for (let zeros = 0; zeros < 256; zeros++) {
    const digest = new Uint8Array(32);
    digest[zeros >> 3] = 0x80 >>> (zeros & 7);
    for (let bits = 0; bits <= 256; bits++) {
      assertEquals(hasLeadingZeroBits(digest, bits), bits <= zeros, `${bits} of ${zeros}`);
    }
  }
  assertEquals(hasLeadingZeroBits(new Uint8Array(32), 256), true);
  assertEquals(hasLeadingZeroBits(new Uint8Array(32), 257), false);
});
