import type { FilterInput } from "../../api/checked_text.ts";
import type { LiveConnection, LiveMessage, LiveRow } from "./live_messages.ts";
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

export interface ShownRows {
  readonly items: readonly LiveRow[];
  /** The number of unconfirmed writes whose effects the rows show. */
  readonly pending: number;
}

/** Applies overlays (unconfirmed writes) to the rows of a client's live lists. */
export interface ShownOverlays {
  /** Returns the rows that a list shows. Undefined if no unconfirmed write affects the list. */
  shown(list: OpenList): ShownRows | undefined;
  receive(list: OpenList, message: LiveMessage): void;
  closed(): void;
}

/** The state that all live lists of a client share. */
export interface OpenLists {
  /** The live lists that have listeners. */
  readonly all: Set<OpenList>;
  /** The connection of the lists. Missing before the first use. */
  connection?: LiveConnection;
  /** Missing if the program uses no outbox. */
  overlays?: ShownOverlays;
  /** Number of requested streams. A stream contains all writes confirmed before its request. */
  asked: number;
}

export function openListsOf({ parts }: Pick<Transport, "parts">): OpenLists {
  // The cast is safe: only this function sets this member, always with this type.
  const known = parts.get(openListsOf) as OpenLists | undefined;
  const lists = known ?? { all: new Set(), asked: 0 };
  parts.set(openListsOf, lists);
  return lists;
}
