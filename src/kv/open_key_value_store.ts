import { createDenoKeyValue } from "./deno_key_value.ts";
import { type DenoKv, findDenoOpenKv } from "./deno_kv.ts";
import type { KeyValue } from "./key_value.ts";
import {
  isDatabaseUrl,
  isStoreFile,
  requireStoreLocation,
  storeLocationMistake,
} from "./key_value_location.ts";
import { openWhenUnlocked } from "./retrying_kv.ts";
import { createMemoryKeyValue } from "./memory_key_value.ts";
import { requireStoreFile } from "./store_file.ts";
import { type ClaimedFile, claimFile } from "../runtime/files/claimed_files.ts";
import { isOnDenoDeploy } from "../runtime/deno_deploy.ts";
import { isDeno } from "../runtime/host.ts";
import type { Option } from "../options/option.ts";
import { testedValue } from "../options/option_kinds.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** A key-value store: a path, `:memory:`, a URL of KV Connect or Postgres, or an open store. */
export type KeyValueOption = string | DenoKv | KeyValue;

export function keyValueOptionRule(): Option<KeyValueOption | undefined> {
  return testedValue<KeyValueOption>(
    "a string, a Deno.Kv or a KeyValue",
    (given) =>
      typeof given === "string"
        ? storeLocationMistake(given) === null
        : typeof given === "object" && given !== null && ("atomic" in given || "commit" in given),
  ).advising((given) => {
    if (typeof given === "string") return storeLocationMistake(given);
    return given instanceof Promise ? "is a promise: write kv: await Deno.openKv()" : null;
  });
}

export interface AppStore {
  readonly configured: KeyValue | null;
  /** Returns the configured store. Without one, creates a store in memory and reports `purpose`. */
  need(purpose: string): KeyValue;
  close(): Promise<void>;
}

export type DatabaseStoreOpener = (url: string, runtime: Runtime) => Promise<KeyValue>;

export async function openKeyValueStore(
  option: KeyValueOption | undefined,
  runtime: Runtime,
  openInDatabase: DatabaseStoreOpener,
  watched: (store: KeyValue) => KeyValue = (store) => store,
): Promise<AppStore> {
  const configured = option === undefined
    ? null
    : watched(await openConfigured(option, runtime, openInDatabase));
  let store = configured;
  return {
    configured,
    need(purpose) {
      if (store !== null) return store;
      const reason = "no kv is configured";
      runtime.observe({ kind: "store_in_memory", purpose, reason });
      return store = watched(createMemoryKeyValue(runtime.clock));
    },
    async close() {
      await store?.close();
    },
  };
}

async function openConfigured(
  option: KeyValueOption,
  runtime: Runtime,
  openInDatabase: DatabaseStoreOpener,
): Promise<KeyValue> {
  if (typeof option !== "string") {
    return "commit" in option ? option : createDenoKeyValue(option, runtime);
  }
  if (option === ":memory:") return createMemoryKeyValue(runtime.clock);
  // Checked again here: the command line and the credits ledger do not check the option.
  requireStoreLocation(option);
  if (isDatabaseUrl(option)) return await openInDatabase(option, runtime);
  if (isOnDenoDeploy(runtime) && isStoreFile(option)) {
    throw new Error(
      `Cannot keep ${option} on Deno Deploy: each instance has a disk of its own, which is lost ` +
        "with it (set kv: await Deno.openKv(), the app's Deno KV)",
    );
  }
  const openKv = findDenoOpenKv();
  if (openKv === undefined) {
    const need = isDeno ? "without --unstable-kv" : "outside Deno";
    const reason = `${option} cannot be opened ${need}`;
    runtime.observe({ kind: "store_in_memory", purpose: "limits, keys and balances", reason });
    return createMemoryKeyValue(runtime.clock);
  }
  let claimed: ClaimedFile | null = null;
  try {
    const file = claimed = isStoreFile(option) ? claimFile(option, "Deno KV") : null;
    const opened = await openWhenUnlocked(async () => {
      if (file !== null) await requireStoreFile(file);
      return await openKv(option);
    }, runtime);
    return createDenoKeyValue(opened, runtime, file?.release);
  } catch (cause) {
    claimed?.release();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Cannot open the key-value store ${option}: ${reason}`, { cause });
  }
}
