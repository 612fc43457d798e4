/**
 * The interface for a custom key-value store, and the errors of a store.
 *
 * @module
 */
export type {
  KeyValue,
  KeyValueCheck,
  KeyValueCommit,
  KeyValueCommitResult,
  KeyValueEntry,
  KeyValueKey,
  KeyValueKeyPart,
  KeyValueMutation,
  KeyValuePage,
} from "../src/kv/key_value.ts";
export type {
  DenoKv,
  DenoKvAtomic,
  DenoKvEntry,
  DenoKvListOptions,
  DenoKvSelector,
} from "../src/kv/deno_kv.ts";
export type { KeyValueOption } from "../src/kv/open_key_value_store.ts";
export { StoreError, type StoreErrorKind } from "../src/kv/store_error.ts";
