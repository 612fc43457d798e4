/** Stand-in for `jsr:@std/crypto/timing-safe-equal`: a build of the same sources. */
import * as real from "deno-std/crypto/timing_safe_equal.js";

/** Returns true if two arrays of one length are equal. The time does not depend on their bytes. */
export const timingSafeEqual: (a: Uint8Array, b: Uint8Array) => boolean = real.timingSafeEqual;
