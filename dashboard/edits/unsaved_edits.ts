import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Drafts } from "../row/draft.ts";
import type { TaggedRow } from "../row/save_row.ts";

/** The edits of a row that are not saved, and the row that they change: null for a new row. */
export interface KeptEdits {
  readonly drafts: Drafts;
  readonly base: TaggedRow | null;
}

/** The edits that are not saved, by the place of the page on which the operator made them. */
export class UnsavedEdits {
  readonly #byPlace = new Map<string, KeptEdits | "cell">();

  /** The edits of the row of a page, or null if the page has none. */
  at(place: string): KeptEdits | null {
    const edits = this.#byPlace.get(place);
    return edits === undefined || edits === "cell" ? null : edits;
  }

  /** True if a page has edits of a row or of a cell. */
  has(place: string): boolean {
    return this.#byPlace.has(place);
  }

  /** Keeps the edits of a page; null removes them. An edit in a cell ends with its page. */
  keep(place: string, edits: KeptEdits | "cell" | null): void {
    if (edits === null) this.#byPlace.delete(place);
    else this.#byPlace.set(place, edits);
  }

  /** True if no page has edits. */
  get isEmpty(): boolean {
    return this.#byPlace.size === 0;
  }
}

/** Contains the edits that are not saved. */
export const EditsContext = createContext<UnsavedEdits>(new UnsavedEdits());

/** Returns the edits that are not saved. */
export function useEdits(): UnsavedEdits {
  return useContext(EditsContext);
}
