import { KvLedger } from "../../billing/ledger/kv_ledger.ts";
import { consoleObserver } from "../../runtime/console_observer.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import type { CreditsCommand } from "../command_arguments.ts";
import { runOverStore } from "../command_store.ts";
import { printValue } from "../printable.ts";

export async function runCreditsCommand(command: CreditsCommand): Promise<number> {
  const runtime = systemRuntime(consoleObserver());
  // Only a grant may create a store: in a new store, all other commands would find balances of 0.
  const use = { action: "use these credits", creates: command.verb === "grant" };
  return await runOverStore(command, use, {
    runtime,
    work: (store) => run(command, new KvLedger(store.need("credits"), runtime)),
  });
}

async function run(command: CreditsCommand, ledger: KvLedger): Promise<number> {
  const { verb, subject, count, amount, json } = command;
  if (verb === "balance") {
    const balance = await ledger.balance(subject);
    printValue(json, { account: subject, balance }, () => String(balance));
    return 0;
  }
  if (verb === "history") {
    for (const entry of await ledger.history(subject, count)) {
      const { seq, kind, amount, balance, at, reason = "", key } = entry;
      const columns = [String(seq).padStart(6), kind.padEnd(8), String(amount).padStart(10)];
      const facts = [String(balance).padStart(10), reason, key === undefined ? "" : `[${key}]`];
      printValue(json, entry, () => [at, ...columns, ...facts].join("  ").trimEnd());
    }
    return 0;
  }
  if (verb === "audit") {
    const audits = await ledger.audit(subject === "" ? undefined : subject);
    for (const audit of audits) {
      const { account, balance, entries, reserved, faults } = audit;
      const held = reserved === 0 ? "" : `, ${reserved} reserved`;
      const verdict = faults.length === 0 ? "right" : `WRONG: ${faults.join("; ")}`;
      printValue(
        json,
        audit,
        () => `${account}: ${balance}${held}, ${entries} entries, ${verdict}`,
      );
    }
    return audits.every(({ faults }) => faults.length === 0) ? 0 : 1;
  }
  const result = verb === "reverse"
    ? await ledger.reverse(subject, { ...command, amount: amount ?? undefined })
    // The parser guarantees an amount for these verbs.
    : await ledger[verb](subject, amount ?? NaN, command);
  const { ok, balance, replayed } = result;
  const done = `${balance}${replayed ? " (done before, under the same key)" : ""}`;
  printValue(json, result, () => ok ? done : `refused: the balance is ${balance}`);
  return ok ? 0 : 1;
}
