import type { LedgerEntry } from "./ledger_entry.ts";
import type { AccountAudit } from "./audit_account.ts";
import type { EndedReservation, LedgerResult, ReservationState } from "./ledger_operations.ts";
import { Problem } from "../../problem/problem.ts";
import { showValue } from "../../problem/show_value.ts";

/** The options of every operation that changes a balance. */
export interface LedgerNote {
  /** Reason to show in the account's history: at most 200 characters. */
  readonly reason?: string | undefined;
  /**
   * Idempotency key of 1 to 255 characters. A repetition with the same key and amount changes
   * nothing and returns the first result. A repetition with another amount fails with 422
   * `idempotency-key-reused`. The key of a grant is unique in the ledger and kept for ever. Other
   * keys are unique in their account. They are kept for 35 days, or for ever for a reversal.
   */
  readonly key?: string | undefined;
}

/** Options for consuming credits. */
export interface ConsumeOptions extends LedgerNote {
  /** True to consume more than the balance, which then becomes negative. Default: false. */
  readonly allowNegative?: boolean | undefined;
}

/** Options for reserving credits. */
export interface ReserveOptions extends LedgerNote {
  /** Milliseconds until the credits return automatically. Default: 600,000. */
  readonly expiresInMs?: number | undefined;
}

/** Credits that an account has reserved for work that has started. */
export interface Reservation {
  /** Name of the account that has reserved the credits. */
  readonly account: string;
  /** Id of the reservation: its idempotency key, or a UUID. */
  readonly id: string;
  /** Number of reserved credits. */
  readonly amount: number;
  /** Time at which the credits return automatically: RFC 3339 in UTC. */
  readonly expiresAt: string;
  /** The state: `open`, unless `reserve` repeated the key of a reservation that has ended. */
  readonly state: ReservationState;
}

/** The result of reserving credits. `reservation` is null if the balance was too low. */
export interface ReserveResult extends LedgerResult {
  /** The reservation, to commit or release later. Null if the balance was too low. */
  readonly reservation: Reservation | null;
}

/** Options for committing a reservation. */
export interface CommitOptions {
  /** Number of credits to charge. The rest returns to the balance. Default: the reserved number. */
  readonly amount?: number | undefined;
}

/** Options for reversing a grant. The idempotency key of a reversal is kept for ever. */
export interface ReverseOptions extends LedgerNote {
  /** Number of credits to reverse. Default: all credits of the grant that are not yet reversed. */
  readonly amount?: number | undefined;
}

/** The part of an account's history to return. */
export interface HistoryPage {
  /** Number of entries to return: 1 to 1,000. */
  readonly count: number;
  /** Returns only entries with a lower `seq`. Pass the `seq` of the previous page's last entry. */
  readonly before?: number | undefined;
}

/** A grant that was found by its key. */
export interface FoundGrant {
  /** Name of the account that received the credits. */
  readonly account: string;
  /** Number of credits that were granted. */
  readonly amount: number;
}

/**
 * The credits ledger: an integer balance for each account, and the entries that add up to it.
 * Entries never change. Each operation is one commit to the key-value store. The commit fails if
 * another operation has changed the balance. Therefore concurrent callers, in any number of
 * processes, never consume more credits than an account has.
 *
 * Amounts are whole numbers from 1 to 2^53 − 1; other amounts fail with 422. If the store does not
 * respond, an operation rejects with a `StoreError`, which clients receive as a 503. The operation
 * may still have been carried out, unless the kind of the error is `unavailable`.
 */
export interface CreditsLedger {
  /** Adds credits. */
  grant(account: string, amount: number, options?: LedgerNote): Promise<LedgerResult>;
  /** Consumes credits. If the balance is too low, changes nothing and returns `ok: false`. */
  consume(account: string, amount: number, options?: ConsumeOptions): Promise<LedgerResult>;
  /** Returns the credits that an account can consume; 0 for an account without entries. */
  balance(account: string): Promise<number>;
  /** Returns entries of an account, newest first. Default: the last 50 entries. */
  history(account: string, page?: number | HistoryPage): Promise<readonly LedgerEntry[]>;
  /** Reserves credits until commit, release or expiry. A reused `key` returns the first result. */
  reserve(account: string, amount: number, options?: ReserveOptions): Promise<ReserveResult>;
  /** Ends a reservation and charges `amount`. `ok` is false if it was released or has expired. */
  commit(
    reservation: Pick<Reservation, "account" | "id">,
    options?: CommitOptions,
  ): Promise<EndedReservation>;
  /** Ends a reservation, returns its credits. `ok` is false if it was committed or has expired. */
  release(reservation: Pick<Reservation, "account" | "id">): Promise<EndedReservation>;
  /**
   * Reverses the grant with this key, e.g. after a refund. The balance may become negative. All
   * reversals together never exceed the grant: a larger `amount` fails with 409. Without a `key` in
   * the options, each call reverses again, so pass the id of a partial refund as `key`.
   */
  reverse(grantKey: string, options?: ReverseOptions): Promise<LedgerResult>;
  /** Returns the account and credits of the grant with this key, or null if no grant has it. */
  findGrant(grantKey: string): Promise<FoundGrant | null>;
  /** Adds up the entries of one account or all accounts, and compares each sum with the balance. */
  audit(account?: string): Promise<readonly AccountAudit[]>;
  /** Closes the store, unless you passed an open store to `openCreditsLedger`. */
  close(): Promise<void>;
}

export function parseAmount(given: unknown, path: string = "amount"): number {
  if (typeof given === "number" && Number.isSafeInteger(given) && given >= 1) return given;
  throw wrongInput(path, `must be a whole number from 1 to 2^53 - 1, not ${showValue(given)}`);
}

export function parseAccount(given: unknown): string {
  return parseText(given, "account", 1_024);
}

export function parseLedgerKey(given: unknown, path: string = "key"): string {
  return parseText(given, path, 255);
}

export function parseReason(given: unknown): string | undefined {
  return given === undefined ? undefined : parseText(given, "reason", 200);
}

export function parseLifetime(given: unknown): number {
  const isLifetime = typeof given === "number" && Number.isSafeInteger(given) && given >= 1 &&
    given <= maxLifetimeMs;
  if (isLifetime) return given;
  const found = showValue(given);
  throw wrongInput(
    "expiresInMs",
    `must be a whole number from 1 to ${maxLifetimeMs}, not ${found}`,
  );
}

const maxLifetimeMs = 30 * 86_400_000;

function parseText(given: unknown, path: string, maxLength: number): string {
  const isText = typeof given === "string" && given !== "" && given.length <= maxLength &&
    // UTF-8 replaces lone surrogates by U+FFFD, so two different names would get the same key.
    given.isWellFormed();
  if (isText) return given;
  throw wrongInput(path, `must be a string of 1 to ${maxLength} characters`);
}

function wrongInput(path: string, message: string): Problem {
  return new Problem("validation-error", `Cannot use these credits: ${path} ${message}`, {
    details: { errors: [{ path, message }] },
  });
}
