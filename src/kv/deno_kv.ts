import type { KeyValueKey, KeyValueKeyPart } from "./key_value.ts";

/** The part of the interface `Deno.Kv` that this program uses. */
export interface DenoKv {
  /** Reads one key. */
  get(key: KeyValueKey): Promise<DenoKvEntry>;
  /** Reads up to ten keys as one snapshot. */
  getMany(keys: readonly KeyValueKey[]): Promise<readonly DenoKvEntry[]>;
  /** Reads a range of keys. */
  list(selector: DenoKvSelector, options: DenoKvListOptions): AsyncIterable<DenoKvEntry>;
  /** Creates a write that contains no changes yet. */
  atomic(): DenoKvAtomic;
  /** Closes the store. A second call throws. */
  close(): void;
}

/**
 * Returns Deno's function that opens a Deno KV. Returns undefined without `--unstable-kv`, and on
 * other platforms. Programs whose `lib` omits `deno.unstable` have no type for this function.
 */
export function platformOpenKv(): ((path: string) => Promise<DenoKv>) | undefined {
  // This type replaces a declaration that only some programs have.
  const { Deno: platform } = globalThis as {
    Deno?: { openKv?: (path: string) => Promise<DenoKv> };
  };
  return platform?.openKv;
}

/** An entry as Deno KV returns it. The versionstamp is null if the key does not exist. */
export interface DenoKvEntry {
  /** The key. A key that was read contains no symbols, although Deno's type allows symbols. */
  readonly key: readonly (KeyValueKeyPart | symbol)[];
  /** The value of the key, or null if the key does not exist. */
  readonly value: unknown;
  /** Identifies the current version of the key's value. Null if the key does not exist. */
  readonly versionstamp: string | null;
}

/** The range of keys that Deno KV lists. */
export interface DenoKvSelector {
  /** The parts with which all keys begin. */
  readonly prefix: KeyValueKey;
  /** The first key of the range. */
  readonly start?: KeyValueKey;
  /** The first key after the range. */
  readonly end?: KeyValueKey;
}

/** The options for reading a range of keys from Deno KV. */
export interface DenoKvListOptions {
  /** True to read the last key first. */
  readonly reverse: boolean;
  /** The number of entries that are read together. */
  readonly batchSize: number;
}

/** A write to Deno KV in preparation. Every method except `commit` returns the write. */
export interface DenoKvAtomic {
  /** Adds conditions to the write. */
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
