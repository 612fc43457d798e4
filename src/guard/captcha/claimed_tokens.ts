import { boundedMap } from "../../runtime/bounded_map.ts";
import { claimOnce } from "../../kv/claim_once.ts";
import type { KeyValue } from "../../kv/key_value.ts";

/** Which tokens were used, by their hashes. Rejects with a `StoreError` where nobody can say. */
export interface ClaimedTokens {
  /** True for one caller, in one process. */
  claim(id: string): Promise<boolean>;
  /** Nobody has looked at it: the client need not solve another one. */
  release(id: string): Promise<void>;
}

/** In the store of all processes. */
export function createClaimedTokens(store: KeyValue): ClaimedTokens {
  // A flood of one token is answered from here, without the store. False: it may be sent again.
  const used = boundedMap<string, boolean>(20_000);
  return {
    async claim(id) {
      if (used.get(id) === true) return false;
      used.set(id, true);
      try {
        return await claimOnce(store, keyOf(id), claimMs);
      } catch (error) {
        // Whether it was claimed is for the store to say, the next time.
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

/** A token of a vendor is good for at most as long; then the vendor refuses it by itself. */
const claimMs = 300_000;

function keyOf(id: string): readonly string[] {
  return ["captcha", id];
}
