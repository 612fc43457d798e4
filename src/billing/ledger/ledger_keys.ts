import { createHash } from "node:crypto";
import { Buffer } from "node:buffer";
import type { KeyValueKey, KeyValueKeyPart } from "../../kv/key_value.ts";

/** Where the ledger keeps its records in the key-value store. */
export const ledgerKeys = {
  /** The balance of an account, with its reservations that are open: its hot key. */
  state: (account: string): KeyValueKey => ["credits", "state", partOf(account)],
  /** Below this are the states of all accounts. */
  states: ["credits", "state"],
  /** One entry; never overwritten. */
  entry: (account: string, seq: number): KeyValueKey => [
    ...["credits", "entry", partOf(account)],
    seq,
  ],
  /** Below this are the entries of an account. */
  entries: (account: string): KeyValueKey => ["credits", "entry", partOf(account)],
  /** What an operation with an idempotency key did to an account. */
  operation: (account: string, key: string): KeyValueKey => [
    ...["credits", "key", partOf(account)],
    digest(key),
  ],
  /** A reservation, open or not. */
  reservation: (account: string, id: string): KeyValueKey => [
    ...["credits", "reservation", partOf(account)],
    digest(id),
  ],
  /** The account that a grant with this key belongs to; never overwritten. */
  grant: (key: string): KeyValueKey => ["credits", "grant", digest(key)],
} as const;

/**
 * An account in a key: its text, or the hash of a long one, since the keys of one commit are
 * limited. Bytes and text are different keys, so that no account is named like the hash of another.
 */
function partOf(account: string): KeyValueKeyPart {
  return Buffer.byteLength(account) <= maxAccountBytes ? account : digest(account);
}

const maxAccountBytes = 64;

function digest(text: string): Uint8Array {
  return new Uint8Array(createHash("sha256").update(text).digest());
}
