import { isLoopback } from "../protocol/loopback.ts";

/** Throws a plain Error for a path or URL in which {@link storeLocationMistake} finds a mistake. */
export function requireStoreLocation(kv: string): void {
  const mistake = storeLocationMistake(kv);
  if (mistake !== null) throw new Error(`Cannot open the key-value store: kv ${mistake}`);
}

/** Returns the mistake in the path or URL of a key-value store, or null for a valid one. */
export function storeLocationMistake(kv: string): string | null {
  if (kv === "") return "is an empty text: give it a path";
  // Also rejects a scheme without slashes: SQLite would open the database that `file:shop.db`
  // names. A single letter before the colon is a Windows drive.
  const [, scheme] = /^([a-z][a-z0-9+.-]+:(?:\/\/)?)/i.exec(kv) ?? [];
  if (scheme === undefined) return companionFileMistake(kv);
  if (/^https:\/\//i.test(kv)) return null;
  if (!/^http:\/\//i.test(kv)) {
    return `takes a path, ":memory:" or an https:// URL, not one of ${scheme}`;
  }
  // HTTP would send the token and every record in clear text.
  return isLoopback(hostOf(kv)) ? null : "takes http:// on this machine alone: use https://";
}

/**
 * Returns an error message for a path that ends like a companion file of a SQLite database, e.g.
 * `-wal`: SQLite reads and deletes it when it opens the database. Null for any other path.
 */
export function companionFileMistake(path: string): string | null {
  const [end] = /-(?:wal|shm|journal|mj[0-9a-f]+)$/i.exec(path) ?? [];
  return end === undefined
    ? null
    : `must not end with "${end}", as the names of files that SQLite makes for a database do`;
}

function hostOf(url: string): string {
  const { hostname = "" } = URL.parse(url) ?? {};
  return hostname.replace(/^\[(.*)\]$/, "$1");
}
