import type { KeyValue, KeyValueKey } from "./key_value.ts";

/**
 * Claims a key once: stores it in the key-value store for some time; false where it was stored
 * already. Of any number of callers, in any number of processes, one gets true. Rejects with a
 * `StoreError` when the store does not answer: then the key is not claimed, and the same caller may
 * try again.
 */
export async function claimOnce(
  store: KeyValue,
  key: KeyValueKey,
  expireInMs: number,
): Promise<boolean> {
  const { ok } = await store.commit({
    checks: [{ key, versionstamp: null }],
    mutations: [{ kind: "set", key, value: true, expireInMs, isReserved: true }],
    claim: key,
    isProvisional: true,
  });
  return ok;
}
