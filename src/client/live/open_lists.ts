import type { LiveMessage, LiveRow } from "./live_messages.ts";
import type { RowSet } from "./row_set.ts";
import type { Transport } from "../../api/transport.ts";

/** A live list, as the overlays of unconfirmed writes use it. */
export interface OpenList {
  /** Path of the resource: `/api/posts`. */
  readonly resource: string;
  readonly set: RowSet;
  /** Returns true if an unconfirmed row belongs to the list, or undefined if that is unknown. */
  readonly accepts: ((row: never) => boolean) | undefined;
  /** True if the list shows unconfirmed new rows. */
  readonly takesNew: boolean;
  /** Publishes the changed state of the list. */
  show(): void;
}

/** The overlays of a client's live lists, which are applied on top of the rows of the service. */
export interface ShownOverlays {
  /** Returns the rows that a list shows, and the number of overlays that change them. */
  shown(list: OpenList): { readonly items: readonly LiveRow[]; readonly pending: number };
  /** Called when the rows of a list have received a message. */
  receive(list: OpenList, message: LiveMessage): void;
  /** Called when a list has lost its last listener. */
  closed(): void;
}

/** The live lists of a client that have listeners. */
export interface OpenLists {
  readonly all: Set<OpenList>;
  /** The overlays, or null if the client has no outbox and no other optimistic writes. */
  overlays: ShownOverlays | null;
  /**
   * Number of requested streams. A stream contains everything that the service acknowledged before
   * the stream was requested.
   */
  asked: number;
}

/** Returns the open lists of the client with this transport. */
export function openListsOf({ parts }: Pick<Transport, "parts">): OpenLists {
  // Only this function writes this key, and always with a value of this type.
  const known = parts.get(openListsOf) as OpenLists | undefined;
  const lists = known ?? { all: new Set(), overlays: null, asked: 0 };
  parts.set(openListsOf, lists);
  return lists;
}
