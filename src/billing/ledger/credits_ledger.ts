import type { LedgerEntry } from "./ledger_entry.ts";
import type { AccountAudit } from "./audit_account.ts";
import type { EndedReservation, LedgerResult, ReservationState } from "./ledger_operations.ts";

/** Options of every operation of the credits ledger. */
export interface LedgerNote {
  /** Reason in the history: at most 200 characters. */
  readonly reason?: string | undefined;
  /**
   * Idempotency key of 1 to 255 characters. An operation that is repeated with the same key and
   * amount runs once and returns its first result. With another amount it fails with 422
   * `idempotency-key-reused`. The key of a grant is kept for ever and is unique in the ledger. The
   * key of another operation is unique in its account and is kept for 35 days.
   */
  readonly key?: string | undefined;
}

/** Options for consuming credits. */
export interface ConsumeOptions extends LedgerNote {
  /** Allows a consumption that makes the balance negative. Default: false. */
  readonly allowNegative?: boolean | undefined;
}

/** Options for reserving credits. */
export interface ReserveOptions extends LedgerNote {
  /** Milliseconds after which the credits return automatically. Default: 600,000. */
  readonly expiresInMs?: number | undefined;
}

/** Credits that are reserved for work that has started. */
export interface Reservation {
  /** The account. */
  readonly account: string;
  /** Id of the reservation: its idempotency key, or a UUID. */
  readonly id: string;
  /** Number of reserved credits. */
  readonly amount: number;
  /** Time at which the credits return automatically: RFC 3339 in UTC. */
  readonly expiresAt: string;
  /**
   * State of the reservation: `open`, unless `reserve` was repeated with its key. Only an open
   * reservation holds credits. After the end of a reservation, work must be reserved under another
   * key.
   */
  readonly state: ReservationState;
}

/** The result of a reservation; `reservation` is null if the balance was too low. */
export interface ReserveResult extends LedgerResult {
  /** The reservation, to be committed or released. */
  readonly reservation: Reservation | null;
}

/** Options for committing a reservation. */
export interface CommitOptions {
  /** The number of credits that were used. The rest returns to the balance. Default: all. */
  readonly amount?: number | undefined;
}

/**
 * Options for reversing a grant. The `key` of a reversal is kept for ever, like the key of a grant.
 */
export interface ReverseOptions extends LedgerNote {
  /** Number of credits to reverse. Default: all remaining credits of the grant. */
  readonly amount?: number | undefined;
}

/** A part of the history of an account. */
export interface HistoryPage {
  /** Number of entries: 1 to 1,000. */
  readonly count: number;
  /** Returns only entries before this `seq`: the `seq` of the last entry on the previous page. */
  readonly before?: number | undefined;
}

/** The account and the credits of a grant with a key. */
export interface FoundGrant {
  /** The account. */
  readonly account: string;
  /** Number of credits. */
  readonly amount: number;
}

/**
 * The credits ledger: integer balances of accounts. Each balance is the sum of immutable entries.
 * Every operation is one commit of the key-value store, which checks that the balance is unchanged.
 * Therefore concurrent callers in any number of processes never consume more credits than the
 * balance.
 *
 * Amounts are whole numbers from 1 to 2^53 − 1; other amounts fail with 422. If the store does not
 * respond, an operation rejects with a `StoreError`, which is a 503 for the client. The operation
 * may still have been carried out, unless the kind of the error is `unavailable`. With a `key`, an
 * operation can be repeated safely.
 */
export interface CreditsLedger {
  /** Adds credits. */
  grant(account: string, amount: number, options?: LedgerNote): Promise<LedgerResult>;
  /** Consumes credits. `ok` is false if the balance is too low. */
  consume(account: string, amount: number, options?: ConsumeOptions): Promise<LedgerResult>;
  /** Returns the credits that can be consumed; 0 for an account without entries. */
  balance(account: string): Promise<number>;
  /** Returns entries, newest first. Default: 50 entries. */
  history(account: string, page?: number | HistoryPage): Promise<readonly LedgerEntry[]>;
  /**
   * Reserves credits until the work succeeds (`commit`), fails (`release`) or takes too long. A
   * repetition with the same key returns the same reservation, even if it has ended. See its
   * `state`.
   */
  reserve(account: string, amount: number, options?: ReserveOptions): Promise<ReserveResult>;
  /** Charges the used credits. `ok` is false if the reservation was released or has expired. */
  commit(
    reservation: Pick<Reservation, "account" | "id">,
    options?: CommitOptions,
  ): Promise<EndedReservation>;
  /** Returns the credits. `ok` is false if the reservation was committed or has expired. */
  release(reservation: Pick<Reservation, "account" | "id">): Promise<EndedReservation>;
  /**
   * Reverses the grant with this key, for instance after a refund. Consumed credits are included,
   * so the balance may become negative. All reversals together never exceed the grant. An `amount`
   * over the rest fails with 409. Without a `key` each call is a separate operation. Pass the id of
   * the refund as the key of a partial refund, so that a repeated event counts once.
   */
  reverse(grantKey: string, options?: ReverseOptions): Promise<LedgerResult>;
  /**
   * Returns the account and the credits of a grant, or null if no grant with this key was started.
   */
  findGrant(grantKey: string): Promise<FoundGrant | null>;
  /** Sums the entries of one account or of all accounts, and compares them with the balances. */
  audit(account?: string): Promise<readonly AccountAudit[]>;
  /** Closes the store if the ledger has opened it by a path or URL. */
  close(): Promise<void>;
}
