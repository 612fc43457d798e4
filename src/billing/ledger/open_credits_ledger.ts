import {
  type KeyValueOption,
  keyValueOptionRule,
  openKeyValueStore,
} from "../../kv/open_key_value_store.ts";
import { type Described, group } from "../../options/option.ts";
import { objectWith } from "../../options/option_kinds.ts";
import { consoleObserver } from "../../runtime/console_observer.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import type { CreditsLedger } from "./credits_ledger.ts";
import { KvLedger } from "./kv_ledger.ts";

/** The options of {@link openCreditsLedger}. */
export interface CreditsLedgerOptions {
  /** The store of the balances, such as a path or `:memory:`. The app can use the same store. */
  readonly kv: KeyValueOption;
  /** Clock, randomness, environment and observer. Default: those of the platform. */
  readonly runtime?: Runtime | undefined;
}

export function runtimeOption() {
  return objectWith<Runtime>(
    "an object with clock, random, observe and environment",
    ...["clock", "random", "observe", "environment"],
  );
}

export const creditsLedgerOptionRules = group(
  {
    kv: keyValueOptionRule().required(),
    runtime: runtimeOption(),
  } satisfies Described<CreditsLedgerOptions>,
).required();

/**
 * Opens a credits ledger in a key-value store.
 *
 * @throws {Error} If an option is invalid. The message names the option.
 * @example
 * ```ts
 * import { openCreditsLedger } from "@svc/resource-api/billing";
 *
 * const credits = await openCreditsLedger({ kv: ":memory:" });
 * await credits.grant("ada", 50, { reason: "welcome" });
 * console.log(await credits.consume("ada", 20)); // { ok: true, balance: 30, replayed: false }
 * console.log(await credits.consume("ada", 31)); // { ok: false, balance: 30, replayed: false }
 * const [last] = await credits.history("ada", 1);
 * console.log(last?.kind, last?.amount, last?.balance); // consume -20 30
 * await credits.close();
 * ```
 */
export async function openCreditsLedger(options: CreditsLedgerOptions): Promise<CreditsLedger> {
  const place = { subject: "Cannot open the ledger", path: "" };
  const { kv, runtime = systemRuntime(consoleObserver()) } = creditsLedgerOptionRules.read(
    options,
    place,
  );
  const store = await openKeyValueStore(kv, runtime);
  return new KvLedger(store.need("credits"), runtime, async () => {
    if (typeof kv === "string") await store.close();
  });
}
