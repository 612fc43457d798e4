import type { ServiceConfig } from "../config.ts";
import { platformOpenKv } from "../kv/deno_kv.ts";
import { requirePlace } from "../kv/key_value_place.ts";
import type { KeyValueOption } from "../kv/open_key_value_store.ts";
import { defaultStore } from "./account_arguments.ts";
import { findConfiguration, loadConfiguration } from "./configuration_file.ts";
import { pathExists } from "./path_exists.ts";

/** What a command of accounts, API keys or credits works with. */
export interface CommandStore {
  /** Null where `--kv` names the store, or nothing does. */
  readonly config: ServiceConfig | null;
  /** Undefined where the configuration names none. */
  readonly option: KeyValueOption | undefined;
}

/**
 * Finds the key-value store of a command: that of its configuration, of `--kv`, or the default.
 * Throws a plain Error for one that no command can use, and for a file that is missing unless the
 * command `creates` its store: opening creates it, empty, whatever its name was meant to be.
 */
export async function findCommandStore(
  { kv, config: path }: { readonly kv: string | null; readonly config: string | null },
  { action, creates }: { readonly action: string; readonly creates: boolean },
): Promise<CommandStore> {
  if (kv !== null && path !== null) {
    throw new Error("Give --kv or --config, not both: a configuration names its own store");
  }
  const found = path ?? (kv === null ? await findConfiguration() : null);
  const config = found === null ? null : await loadConfiguration(found);
  const option = config === null ? kv ?? defaultStore : config.kv;
  if (typeof option !== "string") return { config, option };
  if (option === ":memory:" || platformOpenKv() === undefined) throw inMemory(action);
  requirePlace(option);
  if (!creates && !/^https?:\/\//.test(option) && !await pathExists(option)) {
    const hint = config === null ? " (name the store by --kv)" : "";
    throw new Error(`Cannot open ${option}: there is no such file${hint}`);
  }
  return { config, option };
}

/** The refusal of a command whose store is out of its reach. */
export function inMemory(action: string): Error {
  return new Error(`Cannot ${action}: the key-value store is the memory of the service`);
}
