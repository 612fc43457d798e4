import type { KeyValue, KeyValueKey } from "./key_value.ts";

/**
 * Claims a key once: stores it in the key-value store for some time. Returns false if the key was
 * stored already. Of all callers, in any number of processes, one gets true. Rejects with a
 * `StoreError` if the store does not respond: the key is then not claimed, and the caller may try
 * again.
 */
export async function claimOnce(
  store: KeyValue,
  key: KeyValueKey,
  expireInMs: number,
): Promise<boolean> {
  return await claim(store, key, expireInMs) !== null;
}

/** The claim of a key, which can be revoked if its work was not done. */
export interface RevocableClaim {
  /** Frees the key. Rejects with a `StoreError` if the store does not respond. */
  revoke(): Promise<void>;
}

/** Claims a key like {@link claimOnce}. Returns the claim; null if the key was stored already. */
export async function claimRevocably(
  store: KeyValue,
  key: KeyValueKey,
  expireInMs: number,
): Promise<RevocableClaim | null> {
  const versionstamp = await claim(store, key, expireInMs);
  if (versionstamp === null) return null;
  return {
    async revoke() {
      // The check is needed: a store may carry out the deletion twice, with a new claim in between.
      const checks = [{ key, versionstamp }];
      await store.commit({ checks, mutations: [{ kind: "delete", key }] });
    },
  };
}

/** Returns the versionstamp of the claim; null if the key was stored already. */
async function claim(
  store: KeyValue,
  key: KeyValueKey,
  expireInMs: number,
): Promise<string | null> {
  const result = await store.commit({
    checks: [{ key, versionstamp: null }],
    mutations: [{ kind: "set", key, value: true, expireInMs, isReserved: true }],
    claim: key,
    isProvisional: true,
  });
  return result.ok ? result.versionstamp : null;
}
