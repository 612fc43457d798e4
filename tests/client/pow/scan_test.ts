import { assert, assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import {
  nonceAt,
  nonceRange,
  nonceRangeSize,
  preferredWord,
  type Scan,
  zeroBitsMask,
} from "../../../src/client/pow/nonce_range.ts";
import { createPlainScan } from "../../../src/client/pow/plain_scan.ts";
import { compileSimdScan, createSimdScan } from "../../../src/client/pow/simd_scan.ts";

const plain = createPlainScan();

Deno.test("both searches find the same nonces for tokens of every length, and they solve", async () => {
  const simd = await simdScan();
  let solved = 0;
  for (let length = 0; length < 140; length++) {
    const token = "x".repeat(length);
    // The last counter is one of those whose nonces are longer.
    for (const counter of [0, 5, 64 ** 3 - 1, 64 ** 3 + 7]) {
      const range = nonceRange(token, counter);
      const part = { difficulty: 9, from: 0, to: 2048 };
      const index = plain(range, part);
      if (range.at === preferredWord) {
        assertEquals(simd(range, part), index, `token of ${length}, counter ${counter}`);
      }
      if (index < 0) continue;
      solved++;
      const digest = createHash("sha256").update(`${token}:${nonceAt(range, index)}`).digest();
      assertEquals(digest.readUInt32BE(0) >>> 23, 0);
    }
  }
  assert(solved > 500, "nearly every part of 2,048 holds a nonce for nine bits");
});

Deno.test("both searches find all solutions of a range, one after the other, and end with -1", async () => {
  const range = nonceRange("a token of 108 characters".padEnd(108, "."), 1);
  const expected: number[] = [];
  for (let index = 0; index < nonceRangeSize; index++) {
    const text = `${"a token of 108 characters".padEnd(108, ".")}:${nonceAt(range, index)}`;
    if (createHash("sha256").update(text).digest().readUInt16BE(0) >>> 5 === 0) {
      expected.push(index);
    }
  }
  assert(expected.length > 10);
  // A vector tests four at once, so a search continues at the next four.
  for (const [scan, step] of [[plain, 1], [await simdScan(), 4]] as const) {
    const found: number[] = [];
    for (let from = 0; from < nonceRangeSize;) {
      const index = scan(range, { difficulty: 11, from, to: nonceRangeSize });
      if (index < 0) break;
      found.push(index);
      from = (Math.floor(index / step) + 1) * step;
    }
    const firstOfStep = expected.filter((index, i) =>
      step === 1 || Math.floor(index / 4) !== Math.floor((expected[i - 1] ?? -4) / 4)
    );
    assertEquals(found, firstOfStep);
  }
});

Deno.test("no two nonces are spelled alike, and all have characters that the service reads", () => {
  const nonces = new Set<string>();
  for (const counter of [0, 1, 63, 64, 64 ** 3 - 1, 64 ** 3, 64 ** 3 + 1]) {
    const range = nonceRange("x".repeat(108), counter);
    for (let index = 0; index < nonceRangeSize; index += 17) nonces.add(nonceAt(range, index));
  }
  assertEquals(nonces.size, 7 * Math.ceil(nonceRangeSize / 17));
  assert([...nonces].every((nonce) => /^[\w-]{1,64}$/.test(nonce)));
});

Deno.test("a difficulty from 0 to 32 selects so many of the first word's bits", () => {
  for (let bits = 0; bits <= 32; bits++) {
    const mask = zeroBitsMask(bits) >>> 0;
    assertEquals(mask.toString(2).padStart(32, "0"), "1".repeat(bits) + "0".repeat(32 - bits));
  }
});

async function simdScan(): Promise<Scan> {
  const module = await compileSimdScan();
  assert(module !== null, "this runtime has WebAssembly with vectors");
  return await createSimdScan(module);
}
