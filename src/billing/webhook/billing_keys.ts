import { createHash } from "node:crypto";
import type { KeyValueKey } from "../../kv/key_value.ts";

/** Where billing keeps its records in the key-value store, those of each provider apart. */
export const billingKeys = {
  /** What became of a delivery. */
  delivery: (provider: string, id: string) => keyOf("delivery", provider, id),
  /** The newest known state of a subscription. */
  subscription: (provider: string, id: string) => keyOf("subscription", provider, id),
  /** The account of a customer, whose later events do not all name it. */
  accountOf: (provider: string, customerId: string) => keyOf("account", provider, customerId),
  /** The customer of an account. */
  customerOf: (provider: string, accountId: string) => keyOf("customer", provider, accountId),
  /** The secret of the codes of checkouts, where none is set. */
  codeSecret: ["billing", "codeSecret"],
} as const;

/** Ids may be as long as their providers like. */
function keyOf(kind: string, provider: string, id: string): KeyValueKey {
  const digest = createHash("sha256").update(id).digest();
  return ["billing", kind, provider, new Uint8Array(digest)];
}
