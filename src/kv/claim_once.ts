import type { KeyValue, KeyValueKey } from "./key_value.ts";

/**
 * Writes the key down for so long; false where it was there already. Of any number of callers, in
 * any number of processes, one is told true. Rejects with a `StoreError` when the store does not
 * say: then nobody may take it for true, and the same caller may ask again.
 */
export async function claimOnce(
  store: KeyValue,
  key: KeyValueKey,
  expireInMs: number,
): Promise<boolean> {
  const { ok } = await store.commit({
    checks: [{ key, versionstamp: null }],
    mutations: [{ kind: "set", key, value: true, expireInMs }],
    claim: key,
    isProvisional: true,
  });
  return ok;
}
