import type { KeyValue, KeyValueKey } from "./key_value.ts";

/** A claimed key. The claim can be revoked if the claimed work was not done. */
export interface KeyClaim {
  /** Frees the key. Rejects with a `StoreError` if the store does not respond. */
  revoke(): Promise<void>;
}

/**
 * Claims a key for some time by storing it. Returns null if it is already stored. Of all callers in
 * all processes, only one gets the claim. Rejects with a `StoreError` if the store does not
 * respond. The key is then not claimed, and the caller can try again.
 */
export async function claimKey(
  store: KeyValue,
  key: KeyValueKey,
  expireInMs: number,
): Promise<KeyClaim | null> {
  const result = await store.commit({
    checks: [{ key, versionstamp: null }],
    mutations: [{ kind: "set", key, value: true, expireInMs, isReserved: true }],
    claim: key,
    isProvisional: true,
  });
  if (!result.ok) return null;
  const { versionstamp } = result;
  return {
    async revoke() {
      // With this check, a repeated delete cannot remove a later claim of the key.
      const checks = [{ key, versionstamp }];
      await store.commit({ checks, mutations: [{ kind: "delete", key }] });
    },
  };
}
