/** One of several processes that count in one file or database; prints how many changes and claims it made. */
import { HotKeys } from "../../src/kv/hot_keys.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { openSharedStore } from "../support/open_store.ts";

const runtime = systemRuntime(() => {});
const options = { ...runtime, deadlineMs: 20_000 };
const [place = ""] = Deno.args;
const store = await openSharedStore(place, options);
const hot = new HotKeys(store, options);
let [changes, claims] = [0, 0];

async function count(key: readonly (string | number)[]): Promise<void> {
  for (let round = 0; round < 20; round++) {
    await hot.update(key, (value) => {
      const next = Number(value ?? 0) + 1;
      return { result: next, record: { value: next, expireInMs: 3_600_000 } };
    });
    changes++;
  }
}

async function claim(n: number): Promise<void> {
  const key = ["claimed", n];
  const { ok } = await store.commit({
    checks: [{ key, versionstamp: null }],
    mutations: [{ kind: "set", key, value: true }],
    claim: key,
  });
  if (ok) claims++;
}

// They begin together, so that they compete.
const others = { prefix: ["ready"], limit: 10 };
await store.commit({ mutations: [{ kind: "set", key: ["ready", Deno.pid], value: true }] });
while ((await store.list(others)).length < Number(Deno.args[1]));

await Promise.all([
  ...Array.from({ length: 8 }, () => count(["hot"])),
  ...Array.from({ length: 3 }, (_, n) => count(["warm", n])),
  ...Array.from({ length: 20 }, (_, n) => claim(n)),
]);
console.log(`done ${changes} ${claims}`);
await store.close();
