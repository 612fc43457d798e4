import { createHash } from "node:crypto";
import { Buffer } from "node:buffer";
import type { KeyValueKey, KeyValueKeyPart } from "../../kv/key_value.ts";

/** The keys of the ledger's records in the key-value store. */
export const ledgerKeys = {
  /** The balance and open reservations of an account. Every operation writes this key. */
  state: (account: string): KeyValueKey => ["credits", "state", partOf(account)],
  /** The prefix of the states of all accounts. */
  states: ["credits", "state"],
  /** One entry of an account, which is never overwritten. */
  entry: (account: string, seq: number): KeyValueKey => [
    ...["credits", "entry", partOf(account)],
    seq,
  ],
  entries: (account: string): KeyValueKey => ["credits", "entry", partOf(account)],
  /** The result of an account's operation that had an idempotency key. */
  operation: (account: string, key: string): KeyValueKey => [
    ...["credits", "key", partOf(account)],
    digest(key),
  ],
  /** A reservation of an account, whether open or ended. */
  reservation: (account: string, id: string): KeyValueKey => [
    ...["credits", "reservation", partOf(account)],
    digest(id),
  ],
  /** The account of the grant with this idempotency key, which is never overwritten. */
  grant: (key: string): KeyValueKey => ["credits", "grant", digest(key)],
} as const;

/**
 * Returns the part of a store key that identifies an account: the name, or a hash of a long name.
 * The size of the keys in a commit is limited. Hashes are bytes and names are strings, so a name
 * never equals a hash.
 */
function partOf(account: string): KeyValueKeyPart {
  return Buffer.byteLength(account) <= maxAccountBytes ? account : digest(account);
}

const maxAccountBytes = 64;

function digest(text: string): Uint8Array {
  return new Uint8Array(createHash("sha256").update(text).digest());
}
