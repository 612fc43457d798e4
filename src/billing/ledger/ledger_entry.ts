/** The kind of a ledger entry, which shows why the balance has changed. */
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

/** An entry of the credits ledger: one change of one balance. Entries are never changed. */
export interface LedgerEntry {
  /** Sequence number of the entry in its account, from 1 on without gaps. */
  readonly seq: number;
  /** The reason why the balance has changed. */
  readonly kind: LedgerEntryKind;
  /** Change of the balance. Negative for a reduction; 0 for a commit that used all credits. */
  readonly amount: number;
  /** The balance after the entry. */
  readonly balance: number;
  /** Time of the entry by the clock of the process that created it: RFC 3339 in UTC. */
  readonly at: string;
  /** The reason that the caller of the operation passed. */
  readonly reason?: string;
  /** Idempotency key of the operation. For a reversal, the key of the grant. */
  readonly key?: string;
  /** Id of the reservation that the entry belongs to. */
  readonly reservation?: string;
}
