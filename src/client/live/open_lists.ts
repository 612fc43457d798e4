import type { FilterInput } from "../../api/checked_text.ts";
import type { LiveMessage, LiveRow } from "./live_messages.ts";
import type { RowSet } from "./row_set.ts";
import type { Transport } from "../../api/transport.ts";

/** A live list that has listeners, with the members that unconfirmed writes need. */
export interface OpenList {
  /** The path of the resource, for example `/api/posts`. */
  readonly resource: string;
  readonly set: RowSet;
  /** Returns true if an unconfirmed row belongs to the list. Undefined without option `accepts`. */
  readonly accepts: ((row: never) => boolean) | undefined;
  /** The filter of the list. Undefined or empty if the list contains all rows. */
  readonly filter: FilterInput | undefined;
  /** Computes the list's state again, at the end of the tick. */
  show(): void;
}

/** Applies unconfirmed writes (overlays) to the rows that the live lists of a client show. */
export interface ShownOverlays {
  /** Returns the rows to show in a list, and the number of unconfirmed writes applied to them. */
  shown(list: OpenList): { readonly items: readonly LiveRow[]; readonly pending: number };
  receive(list: OpenList, message: LiveMessage): void;
  closed(): void;
}

/** The live lists of a client that have listeners. */
export interface OpenLists {
  readonly all: Set<OpenList>;
  /** The overlays of unconfirmed writes. Null if the program uses no outbox. */
  overlays: ShownOverlays | null;
  /** Number of requested streams. A stream contains all writes acknowledged before its request. */
  asked: number;
}

export function openListsOf({ parts }: Pick<Transport, "parts">): OpenLists {
  // The cast is safe: only this function writes this key, always with this type.
  const known = parts.get(openListsOf) as OpenLists | undefined;
  const lists = known ?? { all: new Set(), overlays: null, asked: 0 };
  parts.set(openListsOf, lists);
  return lists;
}
