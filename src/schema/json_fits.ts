import { Buffer } from "node:buffer";
import { isExactNumber } from "./exact_number.ts";

/** No character takes more bytes in JSON: a control character is `\u0001`. */
export const maxBytesOfCharacter = 6;

/**
 * Returns true if the JSON of a value has at most so many bytes. What stands at several places counts at
 * each of them, and nothing is written: a value that is far too large is found out early.
 */
export function jsonFits(value: unknown, maxBytes: number): boolean {
  return leftAfter(value, maxBytes / maxBytesOfCharacter, lengthOf, maxLevels) >= 0 ||
    leftAfter(value, maxBytes, bytesOfText, maxLevels) >= 0;
}

/** Returns true if a string has at most so many bytes; it is measured only where its length leaves that open. */
export function textFits(text: string, maxBytes: number): boolean {
  return text.length * maxUtf8BytesOfUnit <= maxBytes || Buffer.byteLength(text) <= maxBytes;
}

/** A UTF-16 unit takes at most three bytes in UTF-8: a pair of them takes four. */
const maxUtf8BytesOfUnit = 3;

/** What is deeper, or contains itself, is left to the writer, which refuses it. */
const maxLevels = 100;

/** What is left of the bytes after a value; negative as soon as they are exceeded. */
function leftAfter(
  value: unknown,
  left: number,
  sizeOf: (text: string) => number,
  levels: number,
): number {
  if (typeof value === "string") return left - sizeOf(value);
  if (typeof value !== "object" || value === null) return left - String(value).length;
  if (isExactNumber(value)) return left - value.rawJSON.length;
  if (levels === 0) return left;
  if ("toJSON" in value) return left - (JSON.stringify(value)?.length ?? 0);
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

function lengthOf(text: string): number {
  return text.length + 2;
}

function bytesOfText(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}
