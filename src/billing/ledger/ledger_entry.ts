/** The kind of a ledger entry: the reason for a change of the balance. */
export type LedgerEntryKind =
  /** Credits were granted. */
  | "grant"
  /** Credits were consumed. */
  | "consume"
  /** Credits were reserved for work that has started. */
  | "reserve"
  /** The work succeeded, and the unused part of the reservation was returned. */
  | "commit"
  /** The work failed, and the reservation was returned. */
  | "release"
  /** The reservation expired and was returned. */
  | "expire"
  /** Granted credits were reversed, for instance after a refund. */
  | "reverse";

/**
 * An entry of the credits ledger: one change of one account's balance. Entries are never changed or
 * deleted.
 */
export interface LedgerEntry {
  /** Sequence number among the entries of the account, from 1 on without gaps. */
  readonly seq: number;
  /** The kind of the change. */
  readonly kind: LedgerEntryKind;
  /** The change of the balance: negative for a reduction, 0 for a commit of all credits. */
  readonly amount: number;
  /** The balance after the entry. */
  readonly balance: number;
  /** Time of the entry by the clock of the process that created it: RFC 3339 in UTC. */
  readonly at: string;
  /** The reason that the caller passed. */
  readonly reason?: string;
  /** The idempotency key of the operation; for a reversal, the key of the grant. */
  readonly key?: string;
  /** The id of the reservation of the entry. */
  readonly reservation?: string;
}
