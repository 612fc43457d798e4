import type { KeyValueKey, KeyValueKeyPart } from "./key_value.ts";

/** The interface of Deno KV itself: the part of `Deno.Kv` that is used. */
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

/**
 * The function of Deno that opens a Deno KV; undefined if Deno runs without `--unstable-kv`, or
 * where this is another platform. Programs whose `lib` leaves out `deno.unstable` have no type of it.
 */
export function platformOpenKv(): ((path: string) => Promise<DenoKv>) | undefined {
  // An own interface in place of the one that only some programs have.
  const { Deno: platform } = globalThis as {
    Deno?: { openKv?: (path: string) => Promise<DenoKv> };
  };
  return platform?.openKv;
}

/** An entry as Deno KV itself reads it; without a versionstamp there is no record. */
export interface DenoKvEntry {
  /** Its key; the symbol is in the type only, for keys that are written. */
  readonly key: readonly (KeyValueKeyPart | symbol)[];
  /** Null also where there is no record. */
  readonly value: unknown;
  /** Identifies the state of the key. */
  readonly versionstamp: string | null;
}

/** The range of keys that Deno KV lists. */
export interface DenoKvSelector {
  /** The parts that all of them begin with. */
  readonly prefix: KeyValueKey;
  /** The first key. */
  readonly start?: KeyValueKey;
  /** The first key after the range. */
  readonly end?: KeyValueKey;
}

/** How Deno KV reads a range of keys. */
export interface DenoKvListOptions {
  /** The last key first. */
  readonly reverse: boolean;
  /** How many are read at once. */
  readonly batchSize: number;
}

/** A write to Deno KV that is being built; every method but `commit` returns it. */
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
