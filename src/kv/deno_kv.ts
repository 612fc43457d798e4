import type { KeyValueEntry, KeyValueKey, KeyValueKeyPart, KeyValueMutation } from "./key_value.ts";
import { keyNameForMessage } from "./key_encoding.ts";

/** The part of the interface `Deno.Kv` that the service uses. */
export interface DenoKv {
  /** Reads one key. */
  get(key: KeyValueKey): Promise<DenoKvEntry>;
  /** Reads up to ten keys in one snapshot, so that all values are from the same time. */
  getMany(keys: readonly KeyValueKey[]): Promise<readonly DenoKvEntry[]>;
  /** Reads a range of keys. */
  list(selector: DenoKvSelector, options: DenoKvListOptions): AsyncIterable<DenoKvEntry>;
  /** Creates a write to which changes can be added. */
  atomic(): DenoKvAtomic;
  /** Closes the store. A second call throws. */
  close(): void;
}

/** Returns the function `Deno.openKv`; undefined without `--unstable-kv`, and outside Deno. */
export function findDenoOpenKv(): ((path: string) => Promise<DenoKv>) | undefined {
  // The cast is safe. The type of `openKv` exists only in programs with `deno.unstable` in `lib`.
  const { Deno: platform } = globalThis as {
    Deno?: { openKv?: (path: string) => Promise<DenoKv> };
  };
  return platform?.openKv;
}

/** An entry as Deno KV returns it. The versionstamp is null if the key does not exist. */
export interface DenoKvEntry {
  /** The key. A stored key has no symbols, although Deno's type allows them. */
  readonly key: readonly (KeyValueKeyPart | symbol)[];
  /** The value of the key, or null if the key does not exist. */
  readonly value: unknown;
  /** Identifies this version of the value. Null if the key does not exist. */
  readonly versionstamp: string | null;
}

/** A range of keys to list. */
export interface DenoKvSelector {
  /** The parts with which all keys of the range begin. */
  readonly prefix: KeyValueKey;
  /** The first key of the range. */
  readonly start?: KeyValueKey;
  /** The key before which the range ends. */
  readonly end?: KeyValueKey;
}

/** Options for listing a range of keys. */
export interface DenoKvListOptions {
  /** True to read the last key first. */
  readonly reverse: boolean;
  /** Number of entries to read in one request. */
  readonly batchSize: number;
}

/** A write to Deno KV to which changes are added. All methods except `commit` return the write. */
export interface DenoKvAtomic {
  /** Adds conditions: the write happens only if each key has this versionstamp. */
  check(
    ...checks: readonly { readonly key: KeyValueKey; readonly versionstamp: string | null }[]
  ): DenoKvAtomic;
  /** Adds a record to the write. */
  set(key: KeyValueKey, value: unknown, options?: { readonly expireIn?: number }): DenoKvAtomic;
  /** Adds the removal of a record to the write. */
  delete(key: KeyValueKey): DenoKvAtomic;
  /** Carries out the write. */
  commit(): Promise<
    { readonly ok: true; readonly versionstamp: string } | { readonly ok: false }
  >;
}

export interface KvRecord {
  readonly entry: KeyValueEntry;
  readonly claimId: string | null;
}

/** Encodes a record with its expiry time, because Deno KV can return records that have expired. */
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
