import type { CreditsLedger } from "../../../billing/ledger/credits_ledger.ts";
import type { Report } from "../report.ts";
import { requireParameter } from "../report_query.ts";

/** Creates the report of an account's credits and newest entries, by the parameter `account`. */
export function createCreditsReport(ledger: Pick<CreditsLedger, "balance" | "history">): Report {
  return {
    name: "credits",
    method: "GET",
    async answer({ query }) {
      const account = requireParameter(query, "account");
      const [balance, entries] = await Promise.all([
        ledger.balance(account),
        ledger.history(account, 100),
      ]);
      return { balance, entries };
    },
  };
}
