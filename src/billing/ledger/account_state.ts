import { Problem } from "../../problem/problem.ts";
import type { LedgerEntry } from "./ledger_entry.ts";

/** The state of an account after one of its commits. `balance` is the sum of all entries. */
export interface AccountState {
  readonly account: string;
  readonly balance: number;
  readonly seq: number;
  /** The open reservations. Their credits are already subtracted from the balance. */
  readonly holds: readonly OpenHold[];
}

export interface OpenHold {
  readonly id: string;
  readonly amount: number;
  readonly balance: number;
  /** Time at which the reservation expires, in milliseconds since 1970. */
  readonly expiresAt: number;
}

export function decodeAccountState(account: string, value: unknown): AccountState {
  // The cast is safe, because no other code writes this key.
  return value === undefined ? { account, balance: 0, seq: 0, holds: [] } : value as AccountState;
}

export type NewEntry = Omit<LedgerEntry, "seq" | "balance" | "at">;

/** Collects an operation's new entries. Throws a 409 if the balance would exceed ±(2^53 − 1). */
export class Entries {
  #state: AccountState;
  readonly #at: string;
  readonly entries: LedgerEntry[] = [];

  constructor(state: AccountState, now: number) {
    this.#state = state;
    this.#at = new Date(now).toISOString();
  }

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

  hold(holds: readonly OpenHold[]): void {
    this.#state = { ...this.#state, holds };
  }
}
