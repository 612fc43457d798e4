import { type NonceRange, type Scan, zeroBitsMask } from "./nonce_range.ts";
import { simdModule } from "./simd_module.ts";

/** The byte offsets of the parts of `simdScanInput` in the memory of the SIMD module. */
export const simdMemoryOffsets = { state: 0, block: 32, mask: 96 } as const;

/**
 * Compiles the SIMD scan, which hashes four nonces at a time. Returns null without WebAssembly
 * SIMD, as in old browsers, or if a content security policy forbids WebAssembly.
 */
export async function compileSimdScan(): Promise<WebAssembly.Module | null> {
  try {
    const gzip = Uint8Array.from(atob(simdModule), (byte) => byte.charCodeAt(0));
    const bytes = new Blob([gzip]).stream().pipeThrough(new DecompressionStream("gzip"));
    return await WebAssembly.compile(await new Response(bytes).arrayBuffer());
  } catch {
    // Without SIMD, the plain scan finds nonces more slowly.
    return null;
  }
}

export async function createSimdScan(module: WebAssembly.Module): Promise<Scan> {
  const { exports } = await WebAssembly.instantiate(module);
  // The cast is safe: the module exports these members.
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

/** Returns the input of a SIMD scan as the memory contains it: hash state, block and mask. */
export function simdScanInput({ midstate, block }: NonceRange, difficulty: number): Int32Array {
  const input = new Int32Array(simdMemoryOffsets.mask / 4 + 1);
  input.set(midstate, simdMemoryOffsets.state / 4);
  input.set(block, simdMemoryOffsets.block / 4);
  input[simdMemoryOffsets.mask / 4] = zeroBitsMask(difficulty);
  return input;
}
