/** Base64 without an import of `node:`, so that a browser can also load this module. */

/** Encodes bytes as base64 with padding. */
export function bytesToBase64(bytes: Uint8Array): string {
  if (hasNative) return bytes.toBase64();
  return nodeBuffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/** Throws a SyntaxError unless the string is the only canonical spelling of its bytes. */
export function base64ToBytes(text: string): Uint8Array {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw new SyntaxError("it is not base64");
  if (hasNative) return Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
  const bytes = nodeBuffer.from(text, "base64");
  if (bytes.toString("base64") !== text) throw new SyntaxError("it is not canonical base64");
  return new Uint8Array(bytes);
}

const hasNative = "toBase64" in Uint8Array.prototype;
// The cast is safe: every runtime of the service without the functions of ECMAScript 2026 has it.
const { Buffer: nodeBuffer } = globalThis as unknown as typeof import("node:buffer");
