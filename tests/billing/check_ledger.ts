/**
 * Random operations of the ledger against a model, on a file in the temporary folder, with faults:
 * `deno task check-ledger [operations]`.
 */
import { createDenoKeyValue } from "../../src/kv/deno_key_value.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { faultyKv } from "../support/faulty_kv.ts";
import { scratchFolder } from "../support/scratch.ts";
import { checkLedger, randomOf } from "./ledger_model.ts";

const operations = Number(Deno.args[0] ?? 1_000_000);
const seed = Number(Deno.args[1] ?? 7);
await using folder = await scratchFolder();
const next = randomOf(seed);
const kv = faultyKv(await Deno.openKv(`${folder.path}/a.kv`), () => {
  const dice = next();
  return dice < 0.005 ? "thrown after" : dice < 0.01 ? "lost acknowledgement" : null;
});
const store = createDenoKeyValue(kv, systemRuntime(() => {}));
const start = performance.now();
await checkLedger({ store, operations, callers: 64, seed });
await store.close();
const took = ((performance.now() - start) / 1_000).toFixed(1);
console.log(`${operations} operations agree with the model, in ${took} s`);
