import type { KeyValue } from "../../kv/key_value.ts";
import { Problem } from "../../problem/problem.ts";
import type { FoundGrant } from "./credits_ledger.ts";
import { ledgerKeys } from "./ledger_keys.ts";

/** The idempotency keys of grants. A key belongs to only one account of the ledger. */
export class GrantKeys {
  readonly #store: Pick<KeyValue, "get" | "commit">;

  constructor(store: Pick<KeyValue, "get" | "commit">) {
    this.#store = store;
  }

  async find(key: string): Promise<FoundGrant | null> {
    const { value } = await this.#store.get(ledgerKeys.grant(key));
    // The cast is safe, because no other code writes this key.
    return value === undefined ? null : value as FoundGrant;
  }

  /**
   * Binds a key to a grant. If events report one payment for two accounts, only one of them then
   * gets the credits. Throws a 422 if the key belongs to another grant.
   */
  async bind(key: string, grant: FoundGrant): Promise<void> {
    const found = await this.find(key) ?? await this.#bindNow(key, grant);
    if (found.account === grant.account && found.amount === grant.amount) return;
    throw new Problem(
      "idempotency-key-reused",
      "This key of the ledger was used for a grant to another account, or of another amount",
    );
  }

  async #bindNow(key: string, grant: FoundGrant): Promise<FoundGrant> {
    const at = ledgerKeys.grant(key);
    const { ok } = await this.#store.commit({
      checks: [{ key: at, versionstamp: null }],
      mutations: [{ kind: "set", key: at, value: grant }],
      claim: at,
    });
    return ok ? grant : await this.find(key) ?? grant;
  }
}
