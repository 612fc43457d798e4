import { isLoopback } from "../protocol/loopback.ts";

export function requireStoreLocation(kv: string): void {
  const mistake = storeLocationMistake(kv);
  if (mistake !== null) throw new Error(`Cannot open the key-value store: kv ${mistake}`);
}

export function storeLocationMistake(kv: string): string | null {
  if (kv === "") return "is an empty string: name a path";
  // Also finds schemes without slashes: SQLite reads `file:shop.db` as a URL and opens `shop.db`.
  // A single letter before the colon is not a scheme, but a drive of Windows.
  const [, scheme] = /^([a-z][a-z0-9+.-]+:(?:\/\/)?)/i.exec(kv) ?? [];
  if (scheme === undefined) return companionFileMistake(kv);
  if (/^https:\/\//i.test(kv) || isDatabaseUrl(kv)) return null;
  if (!/^http:\/\//i.test(kv)) {
    return `takes a path, ":memory:", an https:// or a postgres:// URL, not one of ${scheme}`;
  }
  // Over HTTP, anyone on the network path could read the token and all records.
  const { hostname = "" } = URL.parse(kv) ?? {};
  return isLoopback(hostname.replace(/^\[(.*)\]$/, "$1"))
    ? null
    : "takes http:// on this machine alone: use https://";
}

export function isDatabaseUrl(kv: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(kv);
}

export function isStoreFile(kv: unknown): kv is string {
  return typeof kv === "string" && kv !== ":memory:" && !/^https?:\/\//i.test(kv) &&
    !isDatabaseUrl(kv);
}

/** Returns a message for a path like `a.db-wal`, which SQLite deletes when it opens `a.db`. */
export function companionFileMistake(path: string): string | null {
  const [end] = /-(?:wal|shm|journal|mj[0-9a-f]+)$/i.exec(path) ?? [];
  return end === undefined
    ? null
    : `must not end with "${end}", as the names of files that SQLite makes for a database do`;
}
