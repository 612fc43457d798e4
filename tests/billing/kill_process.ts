/**
 * Work that kills its own process at the n-th moment, and repeats nothing: `kill_process.ts FOLDER
 * N WORK`. Moments are before and after each call of the store, and in the callback. Prints "done"
 * where it has fewer.
 */
import type { CreditsLedger } from "../../src/billing/ledger/credits_ledger.ts";
import { openCreditsLedger } from "../../src/billing/open_billing.ts";
import { createDenoKeyValue } from "../../src/kv/deno_key_value.ts";
import type { KeyValue } from "../../src/kv/key_value.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { type PaymentSequence, sequences } from "./payments.ts";
import { plans, secrets, serviceSecret, signed } from "./signing.ts";

export interface KillWork {
  readonly folder: string;
  /** A sequence of payments, or the operations of the ledger. */
  readonly name: string;
  readonly moment: () => Promise<void>;
  /** How far the clock is ahead: a claim lasts for a minute. */
  readonly aheadMs: number;
}

/** Does the work once, from its begin. Rejects where a delivery is not acknowledged. */
export async function doWork({ folder, name, moment, aheadMs }: KillWork): Promise<void> {
  const system = systemRuntime(() => {});
  const runtime = {
    ...system,
    clock: { ...system.clock, now: () => system.clock.now() + aheadMs },
  };
  const store = createDenoKeyValue(await Deno.openKv(`${folder}/a.kv`), runtime);
  const kv = withMoments(store, moment);
  const sequence = sequences.find((one) => one.name === name);
  try {
    if (sequence === undefined) await useLedger(await openCreditsLedger({ kv, runtime }));
    else await deliverAll(sequence, { kv, runtime, folder, moment });
  } finally {
    await store.close();
  }
}

async function useLedger(credits: CreditsLedger): Promise<void> {
  await credits.grant("ada", 10, { key: "grant:x:1" });
  await credits.consume("ada", 3, { key: "c" });
  await credits.reserve("ada", 4, { key: "r" });
  const { ok } = await credits.commit({ account: "ada", id: "r" }, { amount: 2 });
  // It was killed before, and has come back when the time was over: it reserves again.
  if (!ok) {
    await credits.reserve("ada", 4, { key: "r again" });
    await credits.commit({ account: "ada", id: "r again" }, { amount: 2 });
  }
  await credits.reverse("grant:x:1", { amount: 1, key: "re" });
}

interface DeliveryParts extends Pick<KillWork, "folder" | "moment"> {
  readonly kv: KeyValue;
  readonly runtime: Runtime;
}

async function deliverAll(
  { deliveries, vendor }: PaymentSequence,
  { kv, runtime, folder, moment }: DeliveryParts,
): Promise<void> {
  const { openBilling } = await import("../../src/billing/open_billing.ts");
  const billing = await openBilling({
    kv,
    provider: await providerFor(vendor),
    secret: serviceSecret,
    plans,
    runtime,
    async onEvent({ id, type }) {
      await moment();
      Deno.writeTextFileSync(`${folder}/seen`, `${id} ${type}\n`, { append: true });
      await moment();
    },
  });
  for (const { body, id } of deliveries) {
    const text = JSON.stringify(body);
    const at = runtime.clock.now();
    const headers = signed(vendor, text, { at, ...(id === undefined ? {} : { id }) });
    const request = new Request("http://localhost/webhook", {
      ...{ method: "POST", body: text, headers },
    });
    const { status } = await billing.routes.fetch(request);
    if (status !== 200) throw new Error(`${status} for ${text}`);
  }
  await billing.close();
}

/** Stripe's library takes longer to load than all else, and a process is started for each moment. */
async function providerFor(vendor: PaymentSequence["vendor"]) {
  if (vendor !== "lemon-squeezy") return (await import("./vendors.ts")).providerOf(vendor);
  const { lemonSqueezy } = await import(
    "../../src/billing/providers/lemon_squeezy/lemon_squeezy.ts"
  );
  const webhookSecret = secrets[vendor];
  return lemonSqueezy({ apiKey: "key", storeId: "1", testMode: true, webhookSecret });
}

function withMoments(store: KeyValue, moment: () => Promise<void>): KeyValue {
  async function around<T>(work: () => Promise<T>): Promise<T> {
    await moment();
    const result = await work();
    await moment();
    return result;
  }
  return {
    get: (key) => around(() => store.get(key)),
    getMany: (keys) => around(() => store.getMany(keys)),
    list: (page) => around(() => store.list(page)),
    commit: (commit) => around(() => store.commit(commit)),
    close: () => store.close(),
  };
}

if (import.meta.main) {
  const [folder = "", last = "", name = ""] = Deno.args;
  let moments = 0;
  await doWork({
    ...{ folder, name, aheadMs: 0 },
    moment() {
      if (++moments !== Number(last)) return Promise.resolve();
      Deno.kill(Deno.pid, "SIGKILL");
      // Until it has arrived.
      return new Promise(() => {});
    },
  });
  console.log("done");
}
