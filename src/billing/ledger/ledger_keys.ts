import { createHash } from "node:crypto";
import { Buffer } from "node:buffer";
import type { KeyValueKey, KeyValueKeyPart } from "../../kv/key_value.ts";

/** The keys of the ledger's records in the key-value store. */
export const ledgerKeys = {
  /** The hot key of an account: its balance and its open reservations. */
  state: (account: string): KeyValueKey => ["credits", "state", partOf(account)],
  /** The prefix of the states of all accounts. */
  states: ["credits", "state"],
  /** One entry, which is never overwritten. */
  entry: (account: string, seq: number): KeyValueKey => [
    ...["credits", "entry", partOf(account)],
    seq,
  ],
  entries: (account: string): KeyValueKey => ["credits", "entry", partOf(account)],
  /** The result of an operation with an idempotency key on an account. */
  operation: (account: string, key: string): KeyValueKey => [
    ...["credits", "key", partOf(account)],
    digest(key),
  ],
  /** A reservation, open or not. */
  reservation: (account: string, id: string): KeyValueKey => [
    ...["credits", "reservation", partOf(account)],
    digest(id),
  ],
  /** The account of a grant with this key, which is never overwritten. */
  grant: (key: string): KeyValueKey => ["credits", "grant", digest(key)],
} as const;

/**
 * Returns an account as a part of a key: its name, or the hash of a long name, because the size of
 * keys is limited. Bytes and strings are different keys, so no account name equals the hash of
 * another account.
 */
function partOf(account: string): KeyValueKeyPart {
  return Buffer.byteLength(account) <= maxAccountBytes ? account : digest(account);
}

const maxAccountBytes = 64;

function digest(text: string): Uint8Array {
  return new Uint8Array(createHash("sha256").update(text).digest());
}
