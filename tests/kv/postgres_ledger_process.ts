/** Grants and consumes with keys until it is killed: `postgres_ledger_process.ts URL`. */
import { openCreditsLedger } from "../../src/billing/open_billing.ts";
import { untilAnswered } from "../billing/ledger_model.ts";

const ledger = await openCreditsLedger({ kv: Deno.args[0] ?? "" });
for (let n = 0;; n++) {
  await untilAnswered(() => ledger.grant("bob", 3, { key: `grant:y:${n}` }));
  await untilAnswered(() => ledger.consume("bob", 2, { key: `${n}` }));
  console.log(`done ${n}`);
}
