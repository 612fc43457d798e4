import type { ServiceConfig } from "../app/config.ts";
import { platformOpenKv } from "../kv/deno_kv.ts";
import { requireStoreLocation } from "../kv/key_value_location.ts";
import {
  type AppStore,
  type KeyValueOption,
  openKeyValueStore,
} from "../kv/open_key_value_store.ts";
import { storeProblem } from "../kv/store_error.ts";
import { Problem } from "../problem/problem.ts";
import { isDeno } from "../runtime/host.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { defaultStoreFile, type StoreArguments } from "./command_options.ts";
import { findConfiguration, loadConfiguration } from "./configuration_file.ts";
import { pathExists } from "./path_exists.ts";
import { reportFailure } from "./report_failure.ts";

/** The access of a command to the key-value store: its purpose, and if it creates the store. */
export interface StoreAccess {
  /** The action in error messages, for example `use these credits`. */
  readonly action: string;
  /** True if the command may create a missing store. */
  readonly creates: boolean;
}

/** The store that a command for accounts, API keys, credits or the search outbox uses. */
export interface CommandStore {
  /** The configuration, or null if the command reads no configuration file. */
  readonly config: ServiceConfig | null;
  /** The `kv` option. Undefined if the configuration names no store, or `:memory:`. */
  readonly option: KeyValueOption | undefined;
}

/**
 * Finds the key-value store of a command: `--kv`, the configured store, or the default file. Throws
 * a plain Error for a store that no command can use. Also throws for a missing file, unless the
 * command `creates` its store: otherwise a misspelt name would create a file.
 */
export async function findCommandStore(
  { kv, config: path }: StoreArguments,
  { action, creates }: StoreAccess,
): Promise<CommandStore> {
  const found = path ?? (kv === null ? await findConfiguration() : null);
  const config = found === null ? null : await loadConfiguration(found);
  const option = config === null ? kv ?? defaultStoreFile : config.kv;
  if (typeof option !== "string") return { config, option };
  if (option === ":memory:") {
    if (config !== null) return { config, option: undefined };
    throw storeError(action, "give --kv a path or a URL");
  }
  if (platformOpenKv() === undefined) {
    const need = isDeno ? "without --unstable-kv" : "outside Deno";
    throw new Error(`Cannot ${action}: ${option} cannot be opened ${need}`);
  }
  requireStoreLocation(option);
  if (!creates && !/^https?:\/\//.test(option) && !await pathExists(option)) {
    const hint = config === null ? " (name the store by --kv)" : "";
    throw new Error(`Cannot open ${option}: there is no such file${hint}`);
  }
  return { config, option };
}

/** Runs a command on a store. The exit code is 2 without a usable store, and 1 after a failure. */
export async function runOverStore(
  given: StoreArguments,
  use: StoreAccess,
  { runtime, work }: {
    readonly runtime: Runtime;
    readonly work: (store: AppStore) => Promise<number>;
  },
): Promise<number> {
  let option: KeyValueOption;
  try {
    const found = await findCommandStore(given, use);
    if (found.option === undefined) throw storeError(use.action, storeAdvice);
    option = found.option;
  } catch (error) {
    return reportFailure(error, 2);
  }
  try {
    const store = await openKeyValueStore(option, runtime);
    try {
      return await work(store);
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

/** Returns the error for an inaccessible store. `advice` says what the user can do. */
export function storeError(action: string, advice: string): Error {
  const reason = "the key-value store is the memory of the service";
  return new Error(`Cannot ${action}: ${reason} (${advice})`);
}

/** The advice to the user if the configuration names no store that a command can open. */
export const storeAdvice = "set kv in the configuration to a path or a URL";
