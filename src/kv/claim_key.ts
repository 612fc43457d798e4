import type { KeyValue, KeyValueKey } from "./key_value.ts";

/** The claim of a key. The claim can be revoked if the work was not done. */
export interface KeyClaim {
  /** Frees the key. Rejects with a `StoreError` if the store does not respond. */
  revoke(): Promise<void>;
}

/**
 * Claims a key by storing it for some time. Returns the claim, or null if the key was already
 * stored. Of all callers in all processes, only one gets the claim. Rejects with a `StoreError` if
 * the store does not respond. The key is then not claimed, and the caller may try again.
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
      // The check is needed, because a store may repeat the delete after a new claim.
      const checks = [{ key, versionstamp }];
      await store.commit({ checks, mutations: [{ kind: "delete", key }] });
    },
  };
}
