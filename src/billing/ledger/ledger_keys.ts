import type { KeyValueKey, KeyValueKeyPart } from "../../kv/key_value.ts";
import { hashPart, namePart } from "../../kv/key_encoding.ts";

export const ledgerKeys = {
  /** Balance and reservations. Each operation writes this key; concurrent operations conflict. */
  state: (account: string): KeyValueKey => ["credits", "state", partOf(account)],
  states: ["credits", "state"],
  entry: (account: string, seq: number): KeyValueKey => [
    ...["credits", "entry", partOf(account)],
    seq,
  ],
  entries: (account: string): KeyValueKey => ["credits", "entry", partOf(account)],
  operation: (account: string, key: string): KeyValueKey => [
    ...["credits", "key", partOf(account)],
    hashPart(key),
  ],
  reservation: (account: string, id: string): KeyValueKey => [
    ...["credits", "reservation", partOf(account)],
    hashPart(id),
  ],
  /** The account that received the grant with this idempotency key, written only once. */
  grant: (key: string): KeyValueKey => ["credits", "grant", hashPart(key)],
} as const;

function partOf(account: string): KeyValueKeyPart {
  return namePart(account, 64);
}
