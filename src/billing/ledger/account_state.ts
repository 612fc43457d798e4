import { Problem } from "../../problem/problem.ts";
import type { LedgerEntry } from "./ledger_entry.ts";

/** The state of an account between two commits. Its balance is the sum of its entries. */
export interface AccountState {
  /** The name of the account. */
  readonly account: string;
  readonly balance: number;
  /** Sequence number of the last entry; 0 before the first. */
  readonly seq: number;
  /** The open reservations, whose credits are not part of the balance. */
  readonly holds: readonly OpenHold[];
}

/** A reservation that is neither committed nor released. */
export interface OpenHold {
  readonly id: string;
  readonly amount: number;
  /** The balance directly after the reservation. */
  readonly balance: number;
  /** Expiry, in milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Decodes the stored state of an account; `undefined` is an account without entries. */
export function accountState(account: string, value: unknown): AccountState {
  // No other code writes this key.
  return value === undefined ? { account, balance: 0, seq: 0, holds: [] } : value as AccountState;
}

/** A new entry, without the members that follow from the state. */
export type NewEntry = Omit<LedgerEntry, "seq" | "balance" | "at">;

/**
 * The entries that one operation posts to an account. Throws a 409 if the balance would leave the
 * range of exact integers. The operation then posts nothing.
 */
export class Posting {
  #state: AccountState;
  readonly #at: string;
  /** The entries that were posted so far. */
  readonly entries: LedgerEntry[] = [];

  /** `now` is in milliseconds since 1970. */
  constructor(state: AccountState, now: number) {
    this.#state = state;
    this.#at = new Date(now).toISOString();
  }

  /** The state after the entries so far. */
  get state(): AccountState {
    return this.#state;
  }

  post(entry: NewEntry): LedgerEntry {
    const { kind, amount, ...facts } = entry;
    const balance = this.#state.balance + amount;
    if (!Number.isSafeInteger(balance)) {
      throw new Problem(
        "conflict",
        `Cannot ${kind} these credits: the balance would leave the range of ±(2^53 - 1)`,
      );
    }
    const seq = this.#state.seq + 1;
    const posted = { seq, kind, amount, balance, at: this.#at, ...facts };
    this.#state = { ...this.#state, balance, seq };
    this.entries.push(posted);
    return posted;
  }

  /** Replaces the open reservations. */
  hold(holds: readonly OpenHold[]): void {
    this.#state = { ...this.#state, holds };
  }
}
