import { Problem } from "../../problem/problem.ts";
import type { LedgerEntry } from "./ledger_entry.ts";

/** The state of an account between two commits: its balance is the sum of its entries. */
export interface AccountState {
  /** The name of the account. */
  readonly account: string;
  readonly balance: number;
  /** The place of the last entry; 0 before the first. */
  readonly seq: number;
  /** The reservations that are open; their credits have left the balance. */
  readonly holds: readonly OpenHold[];
}

/** A reservation that is neither committed nor released. */
export interface OpenHold {
  readonly id: string;
  readonly amount: number;
  /** The balance right after it was made. */
  readonly balance: number;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Decodes the stored state of an account; undefined if it has no entries. */
export function accountState(account: string, value: unknown): AccountState {
  // No other code writes this key.
  return value === undefined ? { account, balance: 0, seq: 0, holds: [] } : value as AccountState;
}

/** An entry to post: all that does not follow from the state. */
export type NewEntry = Omit<LedgerEntry, "seq" | "balance" | "at">;

/**
 * The entries that one operation posts to an account, one after the other. Throws a 409 where the
 * balance would leave the range of exact integers, and then the operation posts nothing.
 */
export class Posting {
  #state: AccountState;
  readonly #at: string;
  /** What was posted so far. */
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

  /** Posts an entry. */
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
