/** One of two processes that get the same solutions; prints how often it served each. */
import { createProofOfWork } from "../../src/guard/pow/proof_of_work.ts";
import { createDenoKeyValue } from "../../src/kv/deno_key_value.ts";
import { openWhenUnlocked } from "../../src/kv/retrying_kv.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { difficulty, facts, secret, solutionHeaders } from "./pow_support.ts";

const [path = "", solutionsPath = ""] = Deno.args;
const runtime = systemRuntime(() => {});
const store = createDenoKeyValue(await openWhenUnlocked(() => Deno.openKv(path), runtime), {
  ...runtime,
  deadlineMs: 20_000,
});
const pow = createProofOfWork({ secrets: [secret], challengeTtlMs: 120_000, store, runtime });
const solutions: [token: string, nonce: string][] = JSON.parse(
  await Deno.readTextFile(solutionsPath),
);

// They begin together, so that they compete.
await store.commit({ mutations: [{ kind: "set", key: ["ready", Deno.pid], value: true }] });
while ((await store.list({ prefix: ["ready"], limit: 10 })).length < 2);

const served: number[] = [];
for (const [token, nonce] of solutions) {
  const headers = solutionHeaders(token, nonce);
  const verdicts = await Promise.all(
    Array.from(
      { length: 50 },
      () => pow.requireSolution(headers, facts, difficulty).then(() => true, () => false),
    ),
  );
  served.push(verdicts.filter((isServed) => isServed).length);
}
console.log(`done ${JSON.stringify(served)}`);
await store.close();
