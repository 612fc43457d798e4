import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { ServeConfig } from "../app/serve.ts";
import { pathExists } from "./path_exists.ts";

export async function findConfiguration(): Promise<string | null> {
  return await pathExists(configurationName) ? configurationName : null;
}

export async function requireConfiguration(
  path: string | null,
  hint: string,
): Promise<ServeConfig> {
  const found = path ?? await findConfiguration();
  if (found === null) throw new Error(`There is no ${configurationName} here: ${hint}`);
  return await loadConfiguration(found);
}

export async function loadConfiguration(path: string): Promise<ServeConfig> {
  const { default: config } = await importModule(path);
  if (typeof config !== "object" || config === null) {
    throw new Error(`Cannot serve ${path}: it has no default export that is a configuration`);
  }
  if (!("db" in config && "resources" in config && Array.isArray(config.resources))) {
    throw new Error(`Cannot serve ${path}: its default export needs db and a list of resources`);
  }
  // Creating the app validates all other options.
  return config as ServeConfig;
}

/** The default configuration file, in the current folder. */
export const configurationName = "service.config.ts";

export async function importModule(path: string): Promise<Readonly<Record<string, unknown>>> {
  if (!await pathExists(path)) throw new Error(`Cannot read ${path}: there is no such file`);
  try {
    return await import(pathToFileURL(resolve(path)).href);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Cannot load ${path}: ${reason}`, { cause });
  }
}
