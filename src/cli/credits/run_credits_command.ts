import type { AccountAudit } from "../../billing/ledger/audit_account.ts";
import type { LedgerEntry } from "../../billing/ledger/ledger_entry.ts";
import { KvLedger } from "../../billing/ledger/kv_ledger.ts";
import type { LedgerResult } from "../../billing/ledger/ledger_operations.ts";
import { consoleObserver } from "../../runtime/console_observer.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { runOverStore } from "../command_store.ts";
import { printValue } from "../printable.ts";
import type { CreditsAction, CreditsCommand } from "../command_arguments.ts";

/** Runs the command `credits`, and returns the exit code. */
export async function runCreditsCommand(command: CreditsCommand): Promise<number> {
  const runtime = systemRuntime(consoleObserver());
  const { action, json } = command;
  // Only a grant may create a store: in a new store, all other commands would find balances of 0.
  const use = { action: "use these credits", creates: action.verb === "grant" };
  return await runOverStore(command, use, {
    runtime,
    work: (store) => run(action, new KvLedger(store.need("credits"), runtime), json),
  });
}

async function run(action: CreditsAction, ledger: KvLedger, json: boolean): Promise<number> {
  switch (action.verb) {
    case "balance": {
      const balance = await ledger.balance(action.account);
      printValue(json, { account: action.account, balance }, () => String(balance));
      return 0;
    }
    case "history":
      for (const entry of await ledger.history(action.account, action.count)) {
        printValue(json, entry, () => entryLine(entry));
      }
      return 0;
    case "grant":
      return report(await ledger.grant(action.account, action.amount, action), json);
    case "consume":
      return report(await ledger.consume(action.account, action.amount, action), json);
    case "reverse":
      return report(await ledger.reverse(action.grantKey, action), json);
    case "audit": {
      const audits = await ledger.audit(action.account);
      for (const audit of audits) printValue(json, audit, () => auditLine(audit));
      return audits.every(({ faults }) => faults.length === 0) ? 0 : 1;
    }
  }
}

function report(result: LedgerResult, json: boolean): number {
  const { ok, balance, replayed } = result;
  printValue(
    json,
    result,
    () =>
      ok
        ? `${balance}${replayed ? " (done before, under the same key)" : ""}`
        : `refused: the balance is ${balance}`,
  );
  return ok ? 0 : 1;
}

function entryLine({ seq, kind, amount, balance, at, reason, key }: LedgerEntry): string {
  const sign = amount > 0 ? "+" : "";
  const facts = [reason, key === undefined ? undefined : `[${key}]`];
  return [
    ...[at, String(seq).padStart(6), kind.padEnd(8), `${sign}${amount}`.padStart(10)],
    String(balance).padStart(10),
    ...facts.filter((fact) => fact !== undefined),
  ].join("  ");
}

function auditLine({ account, balance, entries, reserved, faults }: AccountAudit): string {
  const held = reserved === 0 ? "" : `, ${reserved} reserved`;
  const verdict = faults.length === 0 ? "right" : `WRONG: ${faults.join("; ")}`;
  return `${account}: ${balance}${held}, ${entries} entries, ${verdict}`;
}
