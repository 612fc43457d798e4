/** The kind of a ledger entry: why the balance of an account changed. */
export type LedgerEntryKind =
  /** Credits were granted. */
  | "grant"
  /** Credits were consumed. */
  | "consume"
  /** Credits were set aside for work that has begun. */
  | "reserve"
  /** The work succeeded: what it did not use of the reservation was returned. */
  | "commit"
  /** The work failed: the reservation was returned. */
  | "release"
  /** The time limit of a reservation passed, and it was returned. */
  | "expire"
  /** Granted credits were taken back, as after a refund. */
  | "reverse";

/**
 * An entry of the credits ledger: one change of one account's balance. Entries are never changed or
 * deleted.
 */
export interface LedgerEntry {
  /** The place among the entries of its account, from 1 on without gaps. */
  readonly seq: number;
  /** Why the balance changed. */
  readonly kind: LedgerEntryKind;
  /** The change of the balance: negative where credits went away, 0 for a commit that used all. */
  readonly amount: number;
  /** The balance after it. */
  readonly balance: number;
  /** When it was made, by the clock of the process that made it: RFC 3339 in UTC. */
  readonly at: string;
  /** What the caller gave as the reason. */
  readonly reason?: string;
  /** The idempotency key of the operation; of a reversal that of the grant. */
  readonly key?: string;
  /** The id of the reservation that it belongs to. */
  readonly reservation?: string;
}
