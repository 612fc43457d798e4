const root = new URL("../../", import.meta.url).pathname;

/** Returns the path from the root, such as `src/db/driver.ts`, for an absolute path. */
export function projectPath(filename: string): string {
  return filename.startsWith(root) ? filename.slice(root.length) : filename;
}

/** Returns true if the file is published as part of the service. */
export function isSource(path: string): boolean {
  return path.startsWith("src/") || path === "mod.ts";
}

/** Returns true if the path is one of the files or is below one of the folders, which end in `/`. */
export function isIn(path: string, places: readonly string[]): boolean {
  return places.some((place) => place.endsWith("/") ? path.startsWith(place) : path === place);
}
