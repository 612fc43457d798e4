/** The kind of an entry: why the balance changed. */
export type LedgerEntryKind =
  | "grant"
  | "consume"
  | "reserve"
  | "commit"
  | "release"
  | "expire"
  | "reverse";

/** An entry of the credits ledger: one change of one balance. Entries are never changed. */
export interface LedgerEntry {
  /** Sequence number of the entry in its account, from 1 on without gaps. */
  readonly seq: number;
  /** The reason why the balance has changed. */
  readonly kind: LedgerEntryKind;
  /** The change of the balance: negative if it falls; 0 for a commit of all reserved credits. */
  readonly amount: number;
  /** The balance after the entry. */
  readonly balance: number;
  /** Time of the entry by the clock of the process that created it: RFC 3339 in UTC. */
  readonly at: string;
  /** The reason that the caller of the operation passed. */
  readonly reason?: string;
  /** The idempotency key of the operation. For a reversal, the key of the reversed grant. */
  readonly key?: string;
  /** The id of the reservation to which the entry belongs. */
  readonly reservation?: string;
}
