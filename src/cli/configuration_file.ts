import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { ServeConfig } from "../app/serve.ts";
import { pathExists } from "./path_exists.ts";

/** Returns the path of the configuration file in the current folder, or null. */
export async function findConfiguration(): Promise<string | null> {
  if (await pathExists(typescriptName)) return typescriptName;
  for (const name of yamlNames) {
    if (await pathExists(name)) {
      throw new Error(`Cannot read ${name}: so far only ${typescriptName} is understood`);
    }
  }
  return null;
}

/** Imports a configuration file. Throws a plain Error with one sentence for an invalid file. */
export async function loadConfiguration(path: string): Promise<ServeConfig> {
  if (/\.ya?ml$/i.test(path)) {
    throw new Error(`Cannot read ${path}: so far only TypeScript configurations are understood`);
  }
  if (!await pathExists(path)) throw new Error(`Cannot read ${path}: there is no such file`);
  const { default: config } = await importModule(path);
  if (typeof config !== "object" || config === null) {
    throw new Error(`Cannot serve ${path}: it has no default export that is a configuration`);
  }
  if (!("db" in config && "resources" in config && Array.isArray(config.resources))) {
    throw new Error(`Cannot serve ${path}: its default export needs db and a list of resources`);
  }
  // The other options are validated when the app is created.
  return config as ServeConfig;
}

const typescriptName = "service.config.ts";

const yamlNames = ["service.yaml", "service.yml"];

async function importModule(path: string): Promise<{ readonly default?: unknown }> {
  try {
    return await import(pathToFileURL(resolve(path)).href);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Cannot load ${path}: ${reason}`, { cause });
  }
}
