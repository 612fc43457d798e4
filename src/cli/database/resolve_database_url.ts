import { isServerUrl, withoutSecrets } from "../../engines/server_url.ts";
import { Misuse } from "../command_options.ts";
import { pathExists } from "../path_exists.ts";

/** Returns a URL. Throws a {@link Misuse} for a missing SQLite file, which opening would create. */
export async function databaseUrl(place: string): Promise<string> {
  const url = urlOf(place);
  const path = filePathOf(url);
  if (path !== null && !await pathExists(path)) {
    throw new Misuse(`Cannot open ${withoutSecrets(place)}: there is no such file`);
  }
  if (path !== null && !/^pglite:/i.test(url) && (await Deno.stat(path)).isDirectory) {
    throw new Misuse(`Cannot open ${withoutSecrets(place)}: it is a folder, name a file in it`);
  }
  return url;
}

/** Returns the URL of a database to migrate. For a dry run, a missing file counts as empty. */
export async function urlOfDatabaseToMigrate(place: string, dryRun: boolean): Promise<string> {
  const url = urlOf(place);
  const path = filePathOf(url);
  if (!dryRun || path === null || await pathExists(path)) return url;
  return `${url.slice(0, -path.length)}:memory:`;
}

export function sqlitePathOf(place: string): string | null {
  const url = urlOf(place);
  return /^pglite:/i.test(url) ? null : filePathOf(url);
}

function urlOf(place: string): string {
  if (isServerUrl(place)) return place;
  // A single letter before the colon is a drive of Windows, not a scheme.
  return /^[a-z][a-z0-9+.-]+:/i.test(place) ? place : `sqlite:${place}`;
}

function filePathOf(url: string): string | null {
  return /^(?:(?:node-)?sqlite|pglite):(?:\/\/)?(?!:memory:)(.+)$/i.exec(url)?.[1] ?? null;
}
