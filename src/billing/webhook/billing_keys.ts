import type { KeyValueKey } from "../../kv/key_value.ts";
import { hashPart } from "../../kv/key_encoding.ts";

export const billingKeys = {
  subscription: (provider: string, id: string) => keyOf("subscription", provider, id),
  /** The account of a customer, stored because later events may not name the account. */
  accountOf: (provider: string, customerId: string) => keyOf("account", provider, customerId),
  customerOf: (provider: string, accountId: string) => keyOf("customer", provider, accountId),
  codeSecret: ["billing", "codeSecret"],
} as const;

/** Returns a key with a hash of the id, because ids of providers can be long. */
function keyOf(kind: string, provider: string, id: string): KeyValueKey {
  return ["billing", kind, provider, hashPart(id)];
}
