import type { CreditsLedger } from "../../../billing/ledger/credits_ledger.ts";
import type { LedgerEntry } from "../../../billing/ledger/ledger_entry.ts";
import type { Report } from "../report.ts";
import { requireParameter } from "../report_query.ts";

export interface CreditsReport {
  /** The credits that the account can spend; 0 for an account without entries. */
  readonly balance: number;
  /** The newest 100 entries. */
  readonly entries: readonly LedgerEntry[];
}

/** Creates the report of one credits account, by the parameter `account`. */
export function createCreditsReport(ledger: Pick<CreditsLedger, "balance" | "history">): Report {
  return {
    name: "credits",
    method: "GET",
    async answer({ query }): Promise<CreditsReport> {
      const account = requireParameter(query, "account");
      const [balance, entries] = await Promise.all([
        ledger.balance(account),
        ledger.history(account, 100),
      ]);
      return { balance, entries };
    },
  };
}
