import type { FilterInput } from "../../api/checked_text.ts";
import type { LiveMessage, LiveRow } from "./live_messages.ts";
import type { RowSet } from "./row_set.ts";
import type { Transport } from "../../api/transport.ts";

/** A live list with listeners, as unconfirmed writes need it. */
export interface OpenList {
  readonly resource: string;
  readonly set: RowSet;
  /** True if an unconfirmed row belongs to the list. Undefined without the option `accepts`. */
  readonly accepts: ((row: never) => boolean) | undefined;
  /** Undefined or empty if the list contains all rows. */
  readonly filter: FilterInput | undefined;
  /** Computes the list's state again at the end of the tick. */
  show(): void;
}

/** Applies overlays (unconfirmed writes) to the rows of a client's live lists. */
export interface ShownOverlays {
  /** Returns the rows to show in a list, and the number of writes applied to them. */
  shown(list: OpenList): { readonly items: readonly LiveRow[]; readonly pending: number };
  receive(list: OpenList, message: LiveMessage): void;
  closed(): void;
}

export interface OpenLists {
  readonly all: Set<OpenList>;
  /** Null if the program uses no outbox. */
  overlays: ShownOverlays | null;
  /** Number of requested streams. A stream contains all writes confirmed before its request. */
  asked: number;
}

export function openListsOf({ parts }: Pick<Transport, "parts">): OpenLists {
  // The cast is safe: only this function sets this member, always with this type.
  const known = parts.get(openListsOf) as OpenLists | undefined;
  const lists = known ?? { all: new Set(), overlays: null, asked: 0 };
  parts.set(openListsOf, lists);
  return lists;
}
