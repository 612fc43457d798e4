import { quoteName } from "../../src/filter/syntax/quoted_name.ts";

/** Returns a list of names as requests contain it. Names are quoted if necessary. */
export function joinNames(names: readonly string[]): string {
  return names.map(quoteName).join();
}

/** Returns the items of a list of names. Quoted names keep their quotes. */
export function splitItems(text: string): readonly string[] {
  return text.match(/(?:[^,"]|"(?:[^"\\]|\\.)*")+/gs) ?? [];
}

/** Returns the names of a list that {@link joinNames} has written. */
export function splitNames(text: string): readonly string[] {
  return splitItems(text).map(nameOfItem);
}

/** Returns the name of an item without its quotes. */
export function nameOfItem(item: string): string {
  return item.startsWith('"') ? item.slice(1, -1).replace(/\\(.)/gs, "$1") : item;
}

/** Returns a decoded part of a URL, or null if its percent-encoding is malformed. */
export function decodePart(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
