import type { LedgerEntry } from "./ledger_entry.ts";
import type { AccountAudit } from "./audit_account.ts";
import type { EndedReservation, LedgerResult, ReservationState } from "./ledger_operations.ts";

/** What an operation of the credits ledger may carry. */
export interface LedgerNote {
  /** Why, for the history: at most 200 characters. */
  readonly reason?: string | undefined;
  /**
   * An idempotency key of 1 to 255 characters: repeated with the same amount, the operation is done
   * once and gives its first result; with another amount it is a 422 `idempotency-key-reused`. The
   * key of a grant is kept for ever and belongs to one account of the ledger, that of another
   * operation belongs to its account and is kept for 35 days.
   */
  readonly key?: string | undefined;
}

/** How credits are consumed. */
export interface ConsumeOptions extends LedgerNote {
  /** Consumes although the balance does not suffice, so that it becomes negative. */
  readonly allowNegative?: boolean | undefined;
}

/** How credits are reserved. */
export interface ReserveOptions extends LedgerNote {
  /** After so many milliseconds the credits return by themselves; 600,000 unless set. */
  readonly expiresInMs?: number | undefined;
}

/** Credits that are set aside for work that has begun. */
export interface Reservation {
  /** The account. */
  readonly account: string;
  /** Identifies it: the key that it was made with, or a UUID. */
  readonly id: string;
  /** How much is set aside. */
  readonly amount: number;
  /** When the credits return by themselves: RFC 3339 in UTC. */
  readonly expiresAt: string;
  /**
   * What became of it; `open` unless `reserve` was repeated with its key. Only an open one holds
   * credits: work of one that was released or has expired is reserved under another key.
   */
  readonly state: ReservationState;
}

/** The result of a reservation; `reservation` is null if the balance did not suffice. */
export interface ReserveResult extends LedgerResult {
  /** To be committed or released. */
  readonly reservation: Reservation | null;
}

/** How the work of a reservation ended. */
export interface CommitOptions {
  /** How much of the reservation was used, the rest returns; all of it unless set. */
  readonly amount?: number | undefined;
}

/** Which part of a grant is reversed; the `key` of a reversal is kept for ever, as its grant. */
export interface ReverseOptions extends LedgerNote {
  /** How much of it; all that is left of it unless set. */
  readonly amount?: number | undefined;
}

/** A part of the history of an account. */
export interface HistoryPage {
  /** How many entries: 1 to 1,000. */
  readonly count: number;
  /** Only entries before this `seq`, that of the last entry of the page before. */
  readonly before?: number | undefined;
}

/** A grant with a key: what it gave to which account. */
export interface FoundGrant {
  /** The account. */
  readonly account: string;
  /** The credits. */
  readonly amount: number;
}

/**
 * The credits ledger: whole balances of accounts, each the sum of entries that never change. Every
 * operation is one commit of the key-value store, which checks the balance that it was decided by:
 * of any number of callers in any number of processes, together they never consume more than there
 * is.
 *
 * Amounts are whole numbers from 1 to 2^53 − 1; anything else is a 422. An operation rejects with a
 * `StoreError`, a 503 for the client, where the store does not answer: then it may have been done,
 * unless the error says `unavailable`, and is safe to repeat with a `key`.
 */
export interface CreditsLedger {
  /** Adds credits. */
  grant(account: string, amount: number, options?: LedgerNote): Promise<LedgerResult>;
  /** Takes credits, and is not `ok` where the balance does not suffice. */
  consume(account: string, amount: number, options?: ConsumeOptions): Promise<LedgerResult>;
  /** The credits that can be consumed; 0 of an account without entries. */
  balance(account: string): Promise<number>;
  /** The newest entries first; 50 unless set. */
  history(account: string, page?: number | HistoryPage): Promise<readonly LedgerEntry[]>;
  /**
   * Takes credits until the work succeeds (`commit`), fails (`release`) or takes too long. Repeated
   * with its key it gives the same reservation, also one that has ended: see its `state`.
   */
  reserve(account: string, amount: number, options?: ReserveOptions): Promise<ReserveResult>;
  /** Keeps what the work used; not `ok` where the reservation was released or has expired. */
  commit(
    reservation: Pick<Reservation, "account" | "id">,
    options?: CommitOptions,
  ): Promise<EndedReservation>;
  /** Returns the credits; not `ok` where the reservation was committed or has expired. */
  release(reservation: Pick<Reservation, "account" | "id">): Promise<EndedReservation>;
  /**
   * Takes back what the grant with this key gave, as after a refund, also what was consumed since:
   * the balance may become negative. Never more than was granted, by all reversals together: an
   * `amount` over what is left is a 409. Without a `key` each call is an operation of its own, so
   * give partial refunds one each, as the id of the refund: a repeated event then takes once.
   */
  reverse(grantKey: string, options?: ReverseOptions): Promise<LedgerResult>;
  /** What a grant with this key gave to which account; null if none was begun. */
  findGrant(grantKey: string): Promise<FoundGrant | null>;
  /** Folds all entries of an account, or of every account, and compares with the balances. */
  audit(account?: string): Promise<readonly AccountAudit[]>;
  /** Closes the store, where the ledger has opened it by its path or URL. */
  close(): Promise<void>;
}
