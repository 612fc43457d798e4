import { pathExists } from "../path_exists.ts";

/**
 * Returns the URL of a database from the command line. A bare path is a SQLite file. Throws a plain
 * Error for a missing file, because opening would create it.
 */
export async function databaseUrl(place: string): Promise<string> {
  const url = urlOf(place);
  const path = filePathOf(url);
  if (path !== null && !await pathExists(path)) {
    throw new Error(`Cannot open ${place}: there is no such file`);
  }
  return url;
}

/** Returns the URL for a command that fills a missing file, or of an empty one in a dry run. */
export async function newDatabaseUrl(place: string, dryRun: boolean): Promise<string> {
  const url = urlOf(place);
  const path = filePathOf(url);
  if (!dryRun || path === null || await pathExists(path)) return url;
  return `${url.slice(0, -path.length)}:memory:`;
}

function urlOf(place: string): string {
  // A single letter before the colon is a drive of Windows.
  return /^[a-z][a-z0-9+.-]+:/i.test(place) ? place : `sqlite:${place}`;
}

function filePathOf(url: string): string | null {
  return /^(?:(?:node-)?sqlite|pglite):(?:\/\/)?(?!:memory:)(.+)$/i.exec(url)?.[1] ?? null;
}
