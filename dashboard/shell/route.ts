import { useEffect, useState } from "preact/hooks";

/** A place in the dashboard: what its URL has after `#`. */
export interface Route {
  /** The parts of the path, decoded but for the key of a row. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

/** Reads the place from a hash. */
export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { path: path.split("/").filter((part) => part !== ""), query: new URLSearchParams(query) };
}

/** The place that is shown, which follows the URL. */
export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return parseRoute(hash);
}

/** The URL of a place. The user whose rights are looked at stays the same. */
export function href(path: string, query: Readonly<Record<string, string | null>> = {}): string {
  const viewed = parseRoute(location.hash).query.get("as");
  const all = Object.entries({ ...query, as: "as" in query ? query.as : viewed });
  const given = all.filter((entry): entry is [string, string] => Boolean(entry[1]));
  const text = new URLSearchParams(given).toString();
  return `#/${path}${text && `?${text}`}`;
}

/** Changes parameters of the place that is shown: null removes one. */
export function changeQuery(
  changes: Readonly<Record<string, string | null>>,
  how: "push" | "replace" = "push",
): void {
  const { path, query } = parseRoute(location.hash);
  const to = href(path.join("/"), { ...Object.fromEntries(query), ...changes });
  if (how === "push") location.hash = to;
  else {
    history.replaceState(null, "", to);
    dispatchEvent(new HashChangeEvent("hashchange"));
  }
}
