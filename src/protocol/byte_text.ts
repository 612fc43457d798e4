/** Uses the functions of ECMAScript 2026, or else `Buffer` (Node before version 25). */
import { Buffer } from "node:buffer";
import { timingSafeEqual } from "node:crypto";

export { base64ToBytes, bytesToBase64 } from "./base64.ts";

export function bytesToHex(bytes: Uint8Array): string {
  return hasNative ? bytes.toHex() : view(bytes).toString("hex");
}

export function hexToBytes(text: string): Uint8Array {
  if (hasNative) return Uint8Array.fromHex(text);
  if (!/^(?:[0-9a-f]{2})*$/i.test(text)) throw new SyntaxError("it is not hexadecimal");
  return new Uint8Array(Buffer.from(text, "hex"));
}

export function encodeBase64url(bytes: Uint8Array): string {
  return hasNative
    ? bytes.toBase64({ alphabet: "base64url", omitPadding: true })
    : view(bytes).toString("base64url");
}

/** Also rejects a second encoding of equal bytes: a single-use token could be used twice. */
export function decodeBase64url(text: string, from: number, bytes: Uint8Array): boolean {
  const part = text.slice(from, from + base64urlLength(bytes.length));
  const decoded = Buffer.from(part, "base64url");
  if (decoded.length !== bytes.length || decoded.toString("base64url") !== part) return false;
  bytes.set(decoded);
  return true;
}

export function base64urlLength(bytes: number): number {
  return Math.ceil(bytes * 4 / 3);
}

/** Returns true if two strings are equal. The duration depends only on their lengths. */
export function isSameSecret(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

const hasNative = "toBase64" in Uint8Array.prototype;

function view(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
