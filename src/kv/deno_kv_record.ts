import type { DenoKvEntry } from "./deno_kv.ts";
import { keyName } from "./key_encoding.ts";
import type { KeyValueEntry, KeyValueKey, KeyValueMutation } from "./key_value.ts";

/** What a record in a Deno KV says about itself beside its value. */
export interface KvRecord {
  /** Without a value where there is no record, or its time is over. */
  readonly entry: KeyValueEntry;
  /** The id of the commit that made the record, where it was asked to leave one. */
  readonly claimId: string | null;
}

/**
 * What is stored for a value. Records carry their own expiry: the store's one is only the moment
 * after which it may tidy up.
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

/** Reads it again. Throws a plain Error where another program has written something. */
export function decodeRecord(key: KeyValueKey, stored: DenoKvEntry, now: number): KvRecord {
  const { value, versionstamp } = stored;
  if (versionstamp === null) {
    return { entry: { key, value: undefined, versionstamp }, claimId: null };
  }
  if (!Array.isArray(value)) {
    throw new Error(`Cannot read ${keyName(key)}: its record was written by another program`);
  }
  const [content, expiresAt, claimId]: readonly unknown[] = value;
  const isOver = typeof expiresAt === "number" && expiresAt <= now;
  return {
    entry: { key, value: isOver ? undefined : content, versionstamp },
    claimId: typeof claimId === "string" ? claimId : null,
  };
}
