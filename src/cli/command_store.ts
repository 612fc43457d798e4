import type { ServiceConfig } from "../app/config.ts";
import { openStoreByUrl } from "../engines/open_driver.ts";
import { findDenoOpenKv } from "../kv/deno_kv.ts";
import { isDatabaseUrl, isStoreFile, requireStoreLocation } from "../kv/key_value_location.ts";
import {
  type AppStore,
  type KeyValueOption,
  openKeyValueStore,
} from "../kv/open_key_value_store.ts";
import { storeProblem } from "../kv/store_error.ts";
import { Problem } from "../problem/problem.ts";
import { isDeno } from "../runtime/host.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { defaultStoreFile, Misuse, type StoreArguments } from "./command_options.ts";
import { findConfiguration, loadConfiguration } from "./configuration_file.ts";
import { pathExists } from "./path_exists.ts";
import { reportFailure } from "./printable.ts";

export interface StoreAccess {
  /** The purpose of the command, for error messages: `use these credits`. */
  readonly action: string;
  readonly creates: boolean;
  readonly isOptional?: boolean;
}

/** Finds the store. Unless `creates` is set, throws for a missing file instead of creating it. */
async function findCommandStore(
  { kv, config: path }: StoreArguments,
  { action, creates }: StoreAccess,
): Promise<
  { readonly config: ServiceConfig | null; readonly option?: KeyValueOption | undefined }
> {
  const found = path ?? (kv === null ? await findConfiguration() : null);
  const config = found === null ? null : await loadConfiguration(found);
  const option = config === null ? kv ?? defaultStoreFile : config.kv;
  if (typeof option !== "string") return { config, option };
  if (option === ":memory:") {
    if (config !== null) return { config };
    throw storeError(action, "give --kv a path or a URL");
  }
  if (isDatabaseUrl(option)) return { config, option };
  if (findDenoOpenKv() === undefined) {
    const need = isDeno ? "without --unstable-kv" : "outside Deno";
    throw new Error(`Cannot ${action}: ${option} cannot be opened ${need}`);
  }
  requireStoreLocation(option);
  if (!creates && isStoreFile(option) && !await pathExists(option)) {
    const hint = config === null ? " (name the store by --kv)" : "";
    throw new Misuse(`Cannot open ${option}: there is no such file${hint}`);
  }
  return { config, option };
}

/** Runs a command on its store. Returns exit code 2 without a store, and 1 if the command fails. */
export async function runOverStore(
  given: StoreArguments,
  use: StoreAccess,
  { runtime, work }: {
    readonly runtime: Runtime;
    readonly work: (store: AppStore, config: ServiceConfig | null) => Promise<number>;
  },
): Promise<number> {
  let found: Awaited<ReturnType<typeof findCommandStore>>;
  try {
    found = await findCommandStore(given, use);
    if (found.option === undefined && use.isOptional !== true) throw storeError(use.action);
  } catch (error) {
    return reportFailure(error, 2);
  }
  try {
    const { option, config } = found;
    const store = option === undefined
      ? unreachableStore(use.action)
      : await openKeyValueStore(option, runtime, openStoreByUrl);
    try {
      return await work(store, config);
    } finally {
      await store.close();
    }
  } catch (error) {
    const problem = storeProblem(error);
    if (!(problem instanceof Problem)) return reportFailure(error, 1);
    console.error(problem.message);
    return 1;
  }
}

/** Returns a store that throws when a command uses it: outside the service, there is no store. */
function unreachableStore(action: string): AppStore {
  return {
    configured: null,
    need() {
      throw storeError(action);
    },
    close: () => Promise.resolve(),
  };
}

function storeError(
  action: string,
  advice = "set kv in the configuration to a path or a URL",
): Error {
  const reason = "the key-value store is the memory of the service";
  return new Error(`Cannot ${action}: ${reason} (${advice})`);
}
