import { Buffer } from "node:buffer";
import { isExactNumber } from "./exact_number.ts";

/** Maximum bytes of one UTF-16 code unit in JSON: a control character has six, `\u0001`. */
export const maxBytesOfCharacter = 6;

/** Returns true if a value's JSON has at most `maxBytes` bytes. A repeated object counts again. */
export function jsonFits(value: unknown, maxBytes: number): boolean {
  return leftAfter(value, maxBytes / maxBytesOfCharacter, lengthOf, maxLevels) >= 0 ||
    leftAfter(value, maxBytes, (text) => Buffer.byteLength(JSON.stringify(text)), maxLevels) >= 0;
}

/** Returns true if a string has at most `maxBytes` UTF-8 bytes. Short strings are not measured. */
export function textFits(text: string, maxBytes: number): boolean {
  return text.length * maxUtf8BytesOfUnit <= maxBytes || Buffer.byteLength(text) <= maxBytes;
}

/** Maximum UTF-8 bytes of a UTF-16 code unit. A surrogate pair (two units) has four bytes. */
const maxUtf8BytesOfUnit = 3;

const maxLevels = 100;

function leftAfter(
  value: unknown,
  left: number,
  sizeOf: (text: string) => number,
  levels: number,
): number {
  if (typeof value === "string") return left - sizeOf(value);
  if (typeof value !== "object" || value === null) return left - String(value).length;
  if (isExactNumber(value)) return left - value.rawJSON.length;
  if (levels === 0 || "toJSON" in value) return left - jsonBytes(value);
  let rest = left - 2;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (rest < 0) return rest;
      rest = leftAfter(item, rest - 1, sizeOf, levels - 1);
    }
    return rest;
  }
  for (const [name, member] of Object.entries(value)) {
    if (rest < 0) return rest;
    rest = leftAfter(member, rest - name.length - 4, sizeOf, levels - 1);
  }
  return rest;
}

/** Returns the size of the value's JSON, or 0 for a value that JSON cannot represent. */
function jsonBytes(value: object): number {
  try {
    return Buffer.byteLength(JSON.stringify(value) ?? "");
  } catch {
    return 0;
  }
}

function lengthOf(text: string): number {
  return text.length + 2;
}
