import { claimKey, type KeyClaim } from "../../kv/claim_key.ts";
import type { KeyValue } from "../../kv/key_value.ts";
import { boundedMap } from "../../runtime/bounded_map.ts";

/**
 * Claims a CAPTCHA token by its hash. Resolves with the claim for the first caller in all
 * processes, and with null for others. The claim is revoked if the provider returns no verdict, so
 * that the token can be sent again. Rejects with a `StoreError` if the store fails.
 */
export type ClaimToken = (id: string) => Promise<KeyClaim | null>;

export function createTokenClaims(store: KeyValue): ClaimToken {
  // Remembers used tokens, so that they are refused without calling the store.
  const used = boundedMap<string, boolean>(20_000);
  return async (id) => {
    if (used.get(id) === true) return null;
    used.set(id, true);
    try {
      const claim = await claimKey(store, ["captcha", id], claimMs);
      return claim && {
        async revoke() {
          await claim.revoke();
          used.set(id, false);
        },
      };
    } catch (error) {
      // The store may contain the claim or not, so the next request asks it again.
      used.set(id, false);
      throw error;
    }
  };
}

/** How long a claim is kept, in milliseconds: until the providers themselves refuse the token. */
const claimMs = 300_000;
