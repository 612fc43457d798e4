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

/** An entry as `Deno.Kv` reads it; without a versionstamp there is no record. */
export interface DenoKvEntry {
  /** Its key; the symbol is in the type only, for keys that are written. */
  readonly key: readonly (KeyValueKeyPart | symbol)[];
  /** Null also where there is no record. */
  readonly value: unknown;
  /** Identifies the state of the key. */
  readonly versionstamp: string | null;
}

/** A range of keys. */
export interface DenoKvSelector {
  /** The parts that all of them begin with. */
  readonly prefix: KeyValueKey;
  /** The first key. */
  readonly start?: KeyValueKey;
  /** The first key after the range. */
  readonly end?: KeyValueKey;
}

/** How to read a range. */
export interface DenoKvListOptions {
  /** The last key first. */
  readonly reverse: boolean;
  /** How many are read at once. */
  readonly batchSize: number;
}

/** A write that is being built; every method but `commit` returns it. */
export interface DenoKvAtomic {
  /** Adds conditions. */
  check(
    ...checks: readonly { readonly key: KeyValueKey; readonly versionstamp: string | null }[]
  ): DenoKvAtomic;
  /** Adds a record. */
  set(key: KeyValueKey, value: unknown, options?: { readonly expireIn?: number }): DenoKvAtomic;
  /** Adds the removal of a record. */
  delete(key: KeyValueKey): DenoKvAtomic;
  /** Carries it out. */
  commit(): Promise<
    { readonly ok: true; readonly versionstamp: string } | { readonly ok: false }
  >;
}
