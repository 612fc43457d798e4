import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { KeyValueKeyPart } from "./key_value.ts";

/**
 * Returns a name as a part of a key, or the hash of a name with more bytes, because keys are
 * limited. Hashes are bytes and names are strings, so a name never equals the hash of another name.
 */
export function namePart(name: string, maxBytes: number): KeyValueKeyPart {
  return Buffer.byteLength(name) <= maxBytes ? name : hashPart(name);
}

/** Returns the hash of a string of any length as a part of a key. */
export function hashPart(text: string): Uint8Array {
  return new Uint8Array(createHash("sha256").update(text).digest());
}
