import { pathExists } from "../path_exists.ts";

/**
 * The URL of a database that the command line names: a bare path is a SQLite file. A missing file is
 * refused with a plain Error, because opening would create it.
 */
export async function databaseUrl(place: string): Promise<string> {
  // A single letter before the colon is a drive.
  const isUrl = /^[a-z][a-z0-9+.-]+:/i.test(place);
  const path = isUrl ? filePathOf(place) : place;
  if (path !== null && !await pathExists(path)) {
    throw new Error(`Cannot open ${place}: there is no such file`);
  }
  return isUrl ? place : `sqlite:${place}`;
}

function filePathOf(url: string): string | null {
  return /^(?:(?:node-)?sqlite|pglite):(?:\/\/)?(?!:memory:)(.+)$/i.exec(url)?.[1] ?? null;
}
