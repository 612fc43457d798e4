import { type NonceRange, type Scan, zeroBitsMask } from "./nonce_range.ts";
import { simdModule } from "./simd_module.ts";

export const simdMemoryOffsets = { state: 0, block: 32, mask: 96 } as const;

/** Compiles the SIMD scan of four nonces at a time. Null without SIMD, or if a CSP forbids it. */
export async function compileSimdScan(): Promise<WebAssembly.Module | null> {
  try {
    const gzip = Uint8Array.from(atob(simdModule), (byte) => byte.charCodeAt(0));
    const bytes = new Blob([gzip]).stream().pipeThrough(new DecompressionStream("gzip"));
    return await WebAssembly.compile(await new Response(bytes).arrayBuffer());
  } catch {
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

export function simdScanInput({ midstate, block }: NonceRange, difficulty: number): Int32Array {
  const input = new Int32Array(simdMemoryOffsets.mask / 4 + 1);
  input.set(midstate, simdMemoryOffsets.state / 4);
  input.set(block, simdMemoryOffsets.block / 4);
  input[simdMemoryOffsets.mask / 4] = zeroBitsMask(difficulty);
  return input;
}
