import { claimOnce } from "../../kv/claim_once.ts";
import type { KeyValue } from "../../kv/key_value.ts";
import { boundedMap } from "../../runtime/bounded_map.ts";

/**
 * The CAPTCHA tokens that were claimed, each for one use, by their hashes. Rejects with a
 * `StoreError` of the store.
 */
export interface ClaimedTokens {
  /** True for one caller, in one process. */
  claim(id: string): Promise<boolean>;
  /** Takes the claim back where the provider gave no verdict: the client may send the token again. */
  release(id: string): Promise<void>;
}

/** Keeps the claimed CAPTCHA tokens in the store that all processes share. */
export function createClaimedTokens(store: KeyValue): ClaimedTokens {
  // A flood of one token is answered from memory, without the store. False: it may be sent again.
  const used = boundedMap<string, boolean>(20_000);
  return {
    async claim(id) {
      if (used.get(id) === true) return false;
      used.set(id, true);
      try {
        return await claimOnce(store, keyOf(id), claimMs);
      } catch (error) {
        // The next request with the token finds out from the store whether the claim was made.
        used.set(id, false);
        throw error;
      }
    },
    async release(id) {
      await store.commit({ mutations: [{ kind: "delete", key: keyOf(id) }] });
      used.set(id, false);
    },
  };
}

/** The longest time that a provider accepts a token; after that it refuses the token itself. */
const claimMs = 300_000;

function keyOf(id: string): readonly string[] {
  return ["captcha", id];
}
