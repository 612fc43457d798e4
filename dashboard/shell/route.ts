import { useEffect, useRef, useState } from "preact/hooks";
import type { UnsavedEdits } from "../edits/unsaved_edits.ts";

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

/** An entry of the browser's history, with its position in the history of this tab. */
interface Entry {
  readonly hash: string;
  readonly index: number;
}

/** The place that is shown, and the question that precedes a change of the place. */
export interface ShownRoute {
  readonly route: Route;
  /** Present if the operator wants to leave a page that has unsaved edits. */
  readonly leaving: {
    stay(): void;
    /** Null if the edits end with the page. */
    readonly keep: (() => void) | null;
    discard(): void;
  } | null;
}

/** Returns the place that is shown. It follows the URL, unless a page has unsaved edits. */
export function useRoute(edits: UnsavedEdits): ShownRoute {
  const [shown, setShown] = useState(() => entryAt(0));
  const [wanted, setWanted] = useState<Entry | null>(null);
  const current = useRef({ shown, wanted });
  current.current = { shown, wanted };
  useEffect(() => {
    const follow = () => {
      const { shown, wanted } = current.current;
      const next = entryAt((wanted ?? shown).index + 1);
      const isLeft = placeOf(next.hash) !== placeOf(shown.hash);
      const asks = isLeft && edits.has(placeOf(shown.hash));
      setWanted(asks ? next : null);
      if (!asks) setShown(next);
    };
    const ask = (event: Event) => edits.isEmpty || event.preventDefault();
    addEventListener("hashchange", follow);
    addEventListener("beforeunload", ask);
    return () => {
      removeEventListener("hashchange", follow);
      removeEventListener("beforeunload", ask);
    };
  }, [edits]);
  const leave = () => {
    if (wanted !== null) setShown(wanted);
    setWanted(null);
  };
  return {
    route: parseRoute(shown.hash),
    leaving: wanted && {
      stay: () => history.go(shown.index - wanted.index),
      keep: edits.at(placeOf(shown.hash)) === null ? null : leave,
      discard() {
        edits.keep(placeOf(shown.hash), null);
        leave();
      },
    },
  };
}

/** Returns the entry of the URL. A new entry gets the index in its state. */
function entryAt(newIndex: number): Entry {
  const known: unknown = Object(history.state).index;
  const index = typeof known === "number" ? known : newIndex;
  if (known !== index) history.replaceState({ index }, "");
  return { hash: location.hash, index };
}

/** The path of a place without its query. */
function placeOf(hash: string): string {
  return parseRoute(hash).path.join("/");
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
    history.replaceState(history.state, "", to);
    dispatchEvent(new HashChangeEvent("hashchange"));
  }
}
