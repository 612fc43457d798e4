import { claimOnce } from "../../kv/claim_once.ts";
import type { KeyValue } from "../../kv/key_value.ts";
import { boundedMap } from "../../runtime/bounded_map.ts";

/** The hashes of used CAPTCHA tokens. Methods reject with a `StoreError` if the store fails. */
export interface ClaimedTokens {
  /** Claims a token. Resolves to true for the first caller in all processes, and then to false. */
  claim(id: string): Promise<boolean>;
  /** Releases a claim if the provider returned no verdict, so that the token can be sent again. */
  release(id: string): Promise<void>;
}

/** Keeps the claims of CAPTCHA tokens in the store that all processes share. */
export function createClaimedTokens(store: KeyValue): ClaimedTokens {
  // Remembers used tokens, to refuse them without the store. `false` means a released token.
  const used = boundedMap<string, boolean>(20_000);
  return {
    async claim(id) {
      if (used.get(id) === true) return false;
      used.set(id, true);
      try {
        return await claimOnce(store, keyOf(id), claimMs);
      } catch (error) {
        // The store may or may not contain the claim, so the next request asks the store.
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

/** How long a claim is kept, in milliseconds. Providers refuse older tokens themselves. */
const claimMs = 300_000;

function keyOf(id: string): readonly string[] {
  return ["captcha", id];
}
