import type { DenoKvEntry } from "./deno_kv.ts";
import { keyName } from "./key_encoding.ts";
import type { KeyValueEntry, KeyValueKey, KeyValueMutation } from "./key_value.ts";

/** A decoded record of a Deno KV. */
export interface KvRecord {
  /** Without a value where there is no record, or it has expired. */
  readonly entry: KeyValueEntry;
  /** The id of the commit that wrote the record, where the commit has a claim. */
  readonly claimId: string | null;
}

/**
 * Encodes a value as a record of a Deno KV. Records carry their own expiry: the store's is only the
 * time after which it may delete them.
 */
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

/** Decodes a record of a Deno KV. Throws a plain Error for one that another program has written. */
export function decodeRecord(key: KeyValueKey, stored: DenoKvEntry, now: number): KvRecord {
  const { value, versionstamp } = stored;
  if (versionstamp === null) {
    return { entry: { key, value: undefined, versionstamp }, claimId: null };
  }
  if (!Array.isArray(value)) {
    throw new Error(`Cannot read ${keyName(key)}: its record was written by another program`);
  }
  const [content, expiresAt, claimId]: readonly unknown[] = value;
  const isExpired = typeof expiresAt === "number" && expiresAt <= now;
  return {
    entry: { key, value: isExpired ? undefined : content, versionstamp },
    claimId: typeof claimId === "string" ? claimId : null,
  };
}
