import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { ActiveCell } from "../cells/active_cell.ts";
import { noSelection, type Selection } from "../cells/selection.ts";
import type { RowPages } from "./row_pages.ts";
import type { Rows } from "../service/resources.ts";

/** A list that the operator has opened, and the position to which Back returns. */
export interface ListPlace {
  readonly pages: RowPages;
  readonly rows: Rows;
  scrollTop: number;
  scrollLeft: number;
  cell: ActiveCell | null;
  selection: Selection;
}

/** The number of lists whose rows and positions stay in memory. */
const keptLists = 8;

/** The lists that the operator has opened last. */
export class ListPlaces {
  readonly #lists = new Map<string, ListPlace>();
  readonly #queries = new Map<string, string>();

  /** Returns the kept list, or creates one. A list of another user is never returned. */
  open(key: string, rows: Rows, create: () => RowPages): ListPlace {
    const known = this.#lists.get(key);
    const isKept = known?.rows === rows && known.pages.error === null;
    const place = isKept ? known : {
      ...{ pages: create(), rows, scrollTop: 0, scrollLeft: 0, cell: null },
      selection: noSelection,
    };
    if (!isKept) known?.pages.end();
    this.#lists.delete(key);
    this.#lists.set(key, place);
    for (const [old, { pages }] of this.#lists) {
      if (this.#lists.size <= keptLists) break;
      pages.end();
      this.#lists.delete(old);
    }
    return place;
  }

  /** Stores the query with which the operator reads a resource. */
  show(path: string, query: string): void {
    this.#queries.set(path, query);
  }

  /** Returns the query with which the operator has last read a resource. */
  queryOf(path: string): Readonly<Record<string, string>> {
    return Object.fromEntries(new URLSearchParams(this.#queries.get(path) ?? ""));
  }
}

/** Contains the lists that the operator has opened last. */
export const PlacesContext = createContext<ListPlaces>(new ListPlaces());

/** Returns the lists that the operator has opened last. */
export function usePlaces(): ListPlaces {
  return useContext(PlacesContext);
}
