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
  return await claim(store, key, expireInMs) !== null;
}

/** The claim of a key, to be revoked where what it was made for was not done. */
export interface RevocableClaim {
  /** Frees the key. Rejects with a `StoreError` when the store does not answer. */
  revoke(): Promise<void>;
}

/** {@link claimOnce} with the claim as its result; null if the key was stored already. */
export async function claimRevocably(
  store: KeyValue,
  key: KeyValueKey,
  expireInMs: number,
): Promise<RevocableClaim | null> {
  const versionstamp = await claim(store, key, expireInMs);
  if (versionstamp === null) return null;
  return {
    async revoke() {
      // Checked: a store may carry the deletion out twice, and the key may be claimed in between.
      const checks = [{ key, versionstamp }];
      await store.commit({ checks, mutations: [{ kind: "delete", key }] });
    },
  };
}

/** The versionstamp of the claim; null if the key was stored already. */
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
