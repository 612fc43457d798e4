import { claimOnce } from "../../kv/claim_once.ts";
import type { KeyValue } from "../../kv/key_value.ts";
import { boundedMap } from "../../runtime/bounded_map.ts";

/**
 * The CAPTCHA tokens that were claimed, each for one use, by their hashes. Rejects with a
 * `StoreError` of the store.
 */
export interface ClaimedTokens {
  /** Claims a token. Resolves to true for only one caller in all processes. */
  claim(id: string): Promise<boolean>;
  /**
   * Releases a claim if the provider returned no verdict. The client may then send the token again.
   */
  release(id: string): Promise<void>;
}

/** Keeps the claimed CAPTCHA tokens in the store that all processes share. */
export function createClaimedTokens(store: KeyValue): ClaimedTokens {
  // Repeated uses of one token are refused from memory. False means that the token may be sent
  // again.
  const used = boundedMap<string, boolean>(20_000);
  return {
    async claim(id) {
      if (used.get(id) === true) return false;
      used.set(id, true);
      try {
        return await claimOnce(store, keyOf(id), claimMs);
      } catch (error) {
        // The next request with the token asks the store whether the claim was made.
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

/** Retention of a claim in milliseconds; afterwards every provider refuses the token itself. */
const claimMs = 300_000;

function keyOf(id: string): readonly string[] {
  return ["captcha", id];
}
