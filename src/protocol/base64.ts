/** Does not import `node:buffer`, so that a browser can also load this module. */

export function bytesToBase64(bytes: Uint8Array): string {
  if (hasNative) return bytes.toBase64();
  return nodeBuffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/** Decodes base64. Throws a SyntaxError for a string that is not the canonical encoding. */
export function base64ToBytes(text: string): Uint8Array {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw new SyntaxError("it is not base64");
  if (hasNative) return Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
  const bytes = nodeBuffer.from(text, "base64");
  if (bytes.toString("base64") !== text) throw new SyntaxError("it is not canonical base64");
  return new Uint8Array(bytes);
}

const hasNative = "toBase64" in Uint8Array.prototype;
// The cast is safe: each supported runtime without `toBase64` (ECMAScript 2026) has `Buffer`.
const { Buffer: nodeBuffer } = globalThis as unknown as typeof import("node:buffer");
