import { type NonceRange, type Scan, zeroBitsMask } from "./nonce_range.ts";
import { buildSimdModule, simdMemoryOffsets } from "./simd_wasm_module.ts";

/**
 * Compiles the SIMD scan, which hashes four nonces at a time, for ranges whose varying word is
 * `at`. Returns null if WebAssembly SIMD is missing, as in old browsers, or if a content security
 * policy forbids WebAssembly.
 */
export async function compileSimdScan(at: number): Promise<WebAssembly.Module | null> {
  try {
    return await WebAssembly.compile(buildSimdModule(at));
  } catch {
    // Without SIMD, the plain scan finds the same nonces more slowly.
    return null;
  }
}

/** Returns a {@link Scan} that runs a compiled SIMD module. */
export async function createSimdScan(module: WebAssembly.Module): Promise<Scan> {
  const { exports } = await WebAssembly.instantiate(module);
  // The cast is safe: `buildSimdModule` exports exactly these two members.
  const { memory, scan } = exports as {
    memory: WebAssembly.Memory;
    scan(from: number, to: number): number;
  };
  const words = new Int32Array(memory.buffer);
  return (range, { difficulty, from, to }) => {
    words.set(simdScanInput(range, difficulty));
    return scan(from, to);
  };
}

/** Returns the input of a SIMD scan: hash state, block and mask, in the order of the memory. */
export function simdScanInput({ midstate, block }: NonceRange, difficulty: number): Int32Array {
  const input = new Int32Array(simdMemoryOffsets.mask / 4 + 1);
  input.set(midstate, simdMemoryOffsets.state / 4);
  input.set(block, simdMemoryOffsets.block / 4);
  input[simdMemoryOffsets.mask / 4] = zeroBitsMask(difficulty);
  return input;
}
