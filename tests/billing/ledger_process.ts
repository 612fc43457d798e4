/** One of several processes that consume from one account; prints how many succeeded. */
import { openCreditsLedger } from "../../src/billing/open_billing.ts";
import { untilAnswered } from "./ledger_model.ts";

const [path = "", name = ""] = Deno.args;
const ledger = await openCreditsLedger({ kv: path });
const results = await Promise.all(
  Array.from({ length: 25 }, () => untilAnswered(() => ledger.consume("ada", 1))),
);
const keyed = await Promise.all(
  Array.from(
    { length: 20 },
    (_, n) => untilAnswered(() => ledger.grant("bob", 1, { key: `grant:x:${n}` })),
  ),
);
const first = keyed.filter(({ replayed }) => !replayed).length;
await untilAnswered(() => ledger.grant("cid", 1, { key: `own ${name}` }));
console.log(`done ${results.filter(({ ok }) => ok).length} ${first}`);
await ledger.close();
