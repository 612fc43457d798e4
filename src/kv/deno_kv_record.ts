import type { DenoKvEntry } from "./deno_kv.ts";
import { keyNameForMessage } from "./key_encoding.ts";
import type { KeyValueEntry, KeyValueKey, KeyValueMutation } from "./key_value.ts";

export interface KvRecord {
  /** The key, and its value unless the record is missing or has expired. */
  readonly entry: KeyValueEntry;
  /** The id of the commit that wrote the record; null if that commit had no claim. */
  readonly claimId: string | null;
}

/** Encodes a record with its expiry, because Deno KV may return it longer than that. */
export function encodeRecord(
  { value, expireInMs }: KeyValueMutation & { readonly kind: "set" },
  now: number,
  claimId: string | null,
): readonly unknown[] {
  const expiresAt = expireInMs === undefined ? null : now + expireInMs;
  return claimId !== null
    ? [value, expiresAt, claimId]
    : expiresAt !== null
    ? [value, expiresAt]
    : [value];
}

/** Decodes a record in a Deno KV. Throws a plain Error if another program wrote it. */
export function decodeRecord(key: KeyValueKey, stored: DenoKvEntry, now: number): KvRecord {
  const { value, versionstamp } = stored;
  if (versionstamp === null) {
    return { entry: { key, value: undefined, versionstamp }, claimId: null };
  }
  if (!Array.isArray(value)) {
    throw new Error(
      `Cannot read ${keyNameForMessage(key)}: its record was written by another program`,
    );
  }
  const [content, expiresAt, claimId]: readonly unknown[] = value;
  const isExpired = typeof expiresAt === "number" && expiresAt <= now;
  return {
    entry: { key, value: isExpired ? undefined : content, versionstamp },
    claimId: typeof claimId === "string" ? claimId : null,
  };
}
