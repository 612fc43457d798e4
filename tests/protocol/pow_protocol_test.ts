import { assertEquals } from "@std/assert";
import { hasLeadingZeroBits } from "../../src/protocol/pow_protocol.ts";

Deno.test("a digest with exactly n leading zero bits passes for n and not for n + 1", () => {
  for (let zeros = 0; zeros < 256; zeros++) {
    const digest = new Int32Array(8);
    digest[zeros >> 5] = 0x80000000 >>> (zeros & 31);
    for (let bits = 0; bits <= 256; bits++) {
      assertEquals(hasLeadingZeroBits(digest, bits), bits <= zeros, `${bits} of ${zeros}`);
    }
  }
  assertEquals(hasLeadingZeroBits(new Int32Array(8), 256), true);
  assertEquals(hasLeadingZeroBits(new Int32Array(8), 257), false);
});
