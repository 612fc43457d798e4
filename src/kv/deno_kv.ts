import type { KeyValueKey, KeyValueKeyPart } from "./key_value.ts";

/** The part of `Deno.Kv` that is used. */
export interface DenoKv {
  /** Reads one key. */
  get(key: KeyValueKey): Promise<DenoKvEntry>;
  /** Reads up to ten keys at one moment. */
  getMany(keys: readonly KeyValueKey[]): Promise<readonly DenoKvEntry[]>;
  /** Reads a range. */
  list(selector: DenoKvSelector, options: DenoKvListOptions): AsyncIterable<DenoKvEntry>;
  /** Begins a write. */
  atomic(): DenoKvAtomic;
  /** Throws the second time. */
  close(): void;
}

/** What `Deno.Kv` reads; without a versionstamp there is nothing. */
export interface DenoKvEntry {
  /** Where it stands; the symbol is in the type only, for keys that are written. */
  readonly key: readonly (KeyValueKeyPart | symbol)[];
  /** Null, too, where there is nothing. */
  readonly value: unknown;
  /** Names the state of the key. */
  readonly versionstamp: string | null;
}

/** A range of keys. */
export interface DenoKvSelector {
  /** The parts that all of them begin with. */
  readonly prefix: KeyValueKey;
  /** The first key. */
  readonly start?: KeyValueKey;
  /** The first key that is not wanted any more. */
  readonly end?: KeyValueKey;
}

/** How to read a range. */
export interface DenoKvListOptions {
  /** The last key first. */
  readonly reverse: boolean;
  /** How many are read at one moment. */
  readonly batchSize: number;
}

/** A write in the making; every method but the last gives it back. */
export interface DenoKvAtomic {
  /** Adds conditions. */
  check(
    ...checks: readonly { readonly key: KeyValueKey; readonly versionstamp: string | null }[]
  ): DenoKvAtomic;
  /** Adds a record. */
  set(key: KeyValueKey, value: unknown, options?: { readonly expireIn?: number }): DenoKvAtomic;
  /** Adds the removal of a record. */
  delete(key: KeyValueKey): DenoKvAtomic;
  /** Does it. */
  commit(): Promise<
    { readonly ok: true; readonly versionstamp: string } | { readonly ok: false }
  >;
}
