import { serialize } from "node:v8";
import { encodeKey, encodePrefix, isBelowPrefix, keyNameForMessage } from "./key_encoding.ts";
import type { KeyValueCommit, KeyValueKey, KeyValuePage } from "./key_value.ts";

/** Throws a plain Error for a commit that any store would refuse, except for its values. */
export function validateCommit({ checks = [], mutations, claim }: KeyValueCommit): void {
  for (const { key } of [...checks, ...mutations]) encodeKey(key);
  if (checks.length > maxChecksPerCommit) {
    throw new Error(`Cannot commit ${checks.length} checks: ${maxChecksPerCommit} are the most`);
  }
  if (mutations.length > maxMutations) {
    throw new Error(`Cannot commit ${mutations.length} mutations: ${maxMutations} are the most`);
  }
  for (const mutation of mutations) {
    if (mutation.kind === "delete") continue;
    const { key, value, expireInMs = 1 } = mutation;
    if (value === undefined) {
      throw new Error(`Cannot store undefined under ${keyNameForMessage(key)}`);
    }
    if (Number.isSafeInteger(expireInMs) && expireInMs > 0) continue;
    throw new Error(
      `Cannot store under ${
        keyNameForMessage(key)
      }: expireInMs ${expireInMs} is no whole number over 0`,
    );
  }
  if (claim === undefined) return;
  const claimed = encodeKey(claim);
  const last = mutations.findLast(({ key }) => encodeKey(key) === claimed);
  if (last?.kind !== "set") {
    throw new Error(
      `Cannot commit: the claim, ${keyNameForMessage(claim)}, is not the key of a set`,
    );
  }
}

/** Serializes a value. Throws a plain Error if it cannot be cloned or is too large. */
export function serializeValue(key: KeyValueKey, value: unknown): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = serialize(value);
  } catch (cause) {
    throw new Error(`Cannot store under ${keyNameForMessage(key)}: the value cannot be cloned`, {
      cause,
    });
  }
  if (bytes.length > maxValueBytes) {
    const size = bytes.length.toLocaleString("en");
    throw new Error(
      `Cannot store under ${keyNameForMessage(key)}: ${size} bytes are more than 65,000`,
    );
  }
  return bytes;
}

/** Throws a plain Error for a page that any of the supported stores could not list. */
export function validatePage({ prefix, after, limit }: KeyValuePage): void {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > maxEntries) {
    throw new Error(`Cannot list ${limit} entries: the limit is a whole number from 1 to 1,000`);
  }
  if (after === undefined || isBelowPrefix(encodePrefix(prefix), encodeKey(after))) return;
  throw new Error(`Cannot list after ${keyNameForMessage(after)}: it is not below the prefix`);
}

/** Maximum number of checks in a commit, as in KV Connect. Local stores allow a hundred. */
export const maxChecksPerCommit = 10;

const maxMutations = 1_000;

/** Maximum size of a value. Deno KV allows 65,536 bytes, including the record's expiry. */
const maxValueBytes = 65_000;

const maxEntries = 1_000;
