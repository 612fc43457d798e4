import { relative, resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { ServeConfig } from "../app/serve.ts";
import { Misuse } from "./command_options.ts";
import { pathExists } from "./path_exists.ts";

export async function findConfiguration(): Promise<string | null> {
  return await pathExists(configurationName) ? configurationName : null;
}

export async function requireConfiguration(
  path: string | null,
  hint: string,
): Promise<ServeConfig> {
  const found = path ?? await findConfiguration();
  if (found === null) throw new Misuse(`There is no ${configurationName} here: ${hint}`);
  return await loadConfiguration(found);
}

export async function loadConfiguration(path: string): Promise<ServeConfig> {
  const { default: config } = await importModule(path);
  if (typeof config !== "object" || config === null) {
    throw new Misuse(`Cannot serve ${path}: it has no default export that is a configuration`);
  }
  if (!("db" in config && "resources" in config && Array.isArray(config.resources))) {
    throw new Misuse(`Cannot serve ${path}: its default export needs db and a list of resources`);
  }
  // The cast is safe: all other options are validated when the app is created.
  return config as ServeConfig;
}

export const configurationName = "service.config.ts";

export async function importModule(path: string): Promise<Readonly<Record<string, unknown>>> {
  if (!await pathExists(path)) throw new Misuse(`Cannot read ${path}: there is no such file`);
  try {
    return await import(pathToFileURL(resolve(path)).href);
  } catch (cause) {
    throw new Misuse(`Cannot load ${path}: ${stripVTControlCharacters(reasonOf(cause))}`, {
      cause,
    });
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const place = placeInUserCode(error.stack ?? "");
  const isKnown = place === undefined || error.message.includes("file:");
  return isKnown
    ? error.message
    : `${error.message} (${relative(Deno.cwd(), fileURLToPath(place))})`;
}

/** Returns the first position in a stack trace that is not in a package. */
export function placeInUserCode(stack: string): string | undefined {
  return stack.match(/file:\/\/[^\s()]+:\d+:\d+/g)
    ?.find((one) => !one.startsWith(ownCode) && !one.includes("/node_modules/"));
}

const ownCode = new URL("../", import.meta.url).href;
