import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { KeyValueKey, KeyValueKeyPart } from "./key_value.ts";

/** Encodes a key as a unique string that sorts like the key: the tuple encoding of FoundationDB. */
export function encodeKey(key: KeyValueKey): string {
  if (!Array.isArray(key) || key.length === 0) {
    throw new Error("Cannot use this key: it is a list of one part or more");
  }
  const code = encodePrefix(key);
  if (code.length > maxKeyBytes) {
    throw new Error(
      `Cannot use ${keyNameForMessage(key)}: it takes more than ${maxKeyBytes} bytes`,
    );
  }
  return code;
}

/** Encodes a prefix, which can be empty. The code of every key below the prefix begins with it. */
export function encodePrefix(prefix: KeyValueKey): string {
  let code = "";
  for (const part of prefix) code += encodePart(part, prefix);
  return code;
}

export function isBelowPrefix(prefixCode: string, code: string): boolean {
  // A zero byte ends a string or bytes. If 0xff follows, the zero is a part of a longer value.
  return code.length > prefixCode.length && code.startsWith(prefixCode) &&
    code.charCodeAt(prefixCode.length) !== 0xff;
}

/** Returns the first part of a key for messages. Other parts may be secret. */
export function keyNameForMessage(key: KeyValueKey): string {
  const [first] = key;
  return `the key [${typeof first === "string" ? JSON.stringify(first) : typeof first}, …]`;
}

/** Returns a name as a key part. A long name becomes a hash in bytes, which no name equals. */
export function namePart(name: string, maxBytes: number): KeyValueKeyPart {
  return Buffer.byteLength(name) <= maxBytes ? name : hashPart(name);
}

export function hashPart(text: string): Uint8Array {
  if (!text.isWellFormed()) throw new Error("Cannot use a key with half a surrogate pair");
  return new Uint8Array(createHash("sha256").update(text).digest());
}

const maxKeyBytes = 2_048;

function encodePart(part: KeyValueKeyPart, key: KeyValueKey): string {
  switch (typeof part) {
    case "string":
      // UTF-8 would replace each lone surrogate by U+FFFD, so that different keys would be equal.
      if (!part.isWellFormed()) {
        throw new Error(
          `Cannot use ${
            keyNameForMessage(key)
          }: a string in the key contains half a surrogate pair`,
        );
      }
      return `\x02${
        escapeZeros(ascii.test(part) ? part : Buffer.from(part, "utf8").toString("latin1"))
      }\0`;
    case "bigint":
      return encodeInteger(part, key);
    case "number":
      if (Number.isNaN(part)) throw new Error(`Cannot use ${keyNameForMessage(key)}: NaN is in it`);
      return encodeNumber(part);
    case "boolean":
      return part ? "\x27" : "\x26";
    default:
      if (!(part instanceof Uint8Array)) {
        throw new Error(
          `Cannot use ${keyNameForMessage(key)}: a part is neither text, number nor bytes`,
        );
      }
      return `\x01${escapeZeros(bytesText(part))}\0`;
  }
}

// deno-lint-ignore no-control-regex -- ASCII includes control characters
const ascii = /^[\x00-\x7f]*$/;

function bytesText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

function escapeZeros(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\0\xff") : text;
}

/** Encodes sign and byte length, then the magnitude. Inverts all bytes of a negative number. */
function encodeInteger(value: bigint, key: KeyValueKey): string {
  if (value === 0n) return "\x14";
  const hex = (value < 0n ? -value : value).toString(16);
  const magnitude = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
  const { length } = magnitude;
  if (length > 255) throw new Error(`Cannot use ${keyNameForMessage(key)}: an integer is too long`);
  const isLong = length > 8;
  if (value > 0n) {
    const head = isLong ? [0x1d, length] : [0x14 + length];
    return String.fromCharCode(...head) + bytesText(magnitude);
  }
  const head = isLong ? [0x0b, length ^ 0xff] : [0x14 - length];
  return String.fromCharCode(...head) + bytesText(magnitude.map((byte) => byte ^ 0xff));
}

/** Encodes a number as IEEE 754, with some bits inverted so that bytes sort like numbers. */
function encodeNumber(value: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  const isNegative = (bytes[0] ?? 0) >= 0x80;
  return `\x21${
    bytesText(
      bytes.map((byte, index) => isNegative ? byte ^ 0xff : index === 0 ? byte ^ 0x80 : byte),
    )
  }`;
}
