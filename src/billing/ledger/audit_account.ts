import { entriesBelow } from "../../kv/entries_below.ts";
import type { KeyValue } from "../../kv/key_value.ts";
import type { AccountState } from "./account_state.ts";
import type { LedgerEntry } from "./ledger_entry.ts";
import { ledgerKeys } from "./ledger_keys.ts";

/** The result of auditing an account, i.e. of adding up all its entries. */
export interface AccountAudit {
  /** The name of the audited account. */
  readonly account: string;
  /** The stored balance of the account. */
  readonly balance: number;
  /** The sum of all entries. If it differs from the balance, an entry or the balance is wrong. */
  readonly sum: number;
  /** Number of entries that were summed. */
  readonly entries: number;
  /** Credits in open reservations, which are already subtracted from the balance. */
  readonly reserved: number;
  /** The inconsistencies that the audit found. */
  readonly faults: readonly string[];
}

export async function auditAccount(store: KeyValue, state: AccountState): Promise<AccountAudit> {
  const { account, balance } = state;
  const fold = new Fold();
  // Reads the first `state.seq` entries only: an operation during the audit just adds entries.
  for await (const { value } of entriesBelow(store, ledgerKeys.entries(account))) {
    if (fold.entries === state.seq) break;
    // The cast is safe, because no other code writes below this prefix.
    fold.add(value as LedgerEntry);
  }
  const { sum, entries, open } = fold;
  const reserved = state.holds.reduce((total, { amount }) => total + amount, 0);
  const faults = [...fold.faults];
  if (entries !== state.seq) faults.push(`there are ${entries} entries of ${state.seq}`);
  if (sum !== balance) faults.push(`the entries give ${sum}, the balance is ${balance}`);
  const areOpen = open.size === state.holds.length &&
    state.holds.every(({ id, amount }) => open.get(id) === amount);
  if (!areOpen) faults.push(`${open.size} reservations are open, not ${state.holds.length}`);
  return { account, balance, sum, entries, reserved, faults };
}

class Fold {
  sum = 0;
  entries = 0;
  /** The amounts of open reservations, by reservation id. */
  readonly open = new Map<string, number>();
  readonly faults: string[] = [];

  add({ seq, kind, amount, balance, reservation }: LedgerEntry): void {
    this.entries++;
    this.sum += amount;
    if (seq !== this.entries) this.faults.push(`entry ${this.entries} has the number ${seq}`);
    if (balance !== this.sum) {
      this.faults.push(`after entry ${seq} the balance is ${balance}, the sum ${this.sum}`);
    }
    if (reservation === undefined) return;
    if (kind === "reserve") this.open.set(reservation, -amount);
    else if (!this.open.delete(reservation)) {
      this.faults.push(`entry ${seq} ends a reservation that is not open`);
    }
  }
}
