import type { LiveMessage, LiveRow } from "./live_messages.ts";
import type { RowSet } from "./row_set.ts";
import type { Transport } from "../../api/transport.ts";

/** A live list, as the overlays of unconfirmed writes see it. */
export interface OpenList {
  /** Of its resource: `/api/posts`. */
  readonly resource: string;
  readonly set: RowSet;
  /** Returns true if an unconfirmed row belongs to it; undefined if the list does not know. */
  readonly accepts: ((row: never) => boolean) | undefined;
  /** True if it takes unconfirmed new rows. */
  readonly takesNew: boolean;
  /** Shows what has changed. */
  show(): void;
}

/** The overlays of the live lists of a client, over the rows that the service has sent. */
export interface ShownOverlays {
  /** The rows of a list as they are shown, and how many overlays change them. */
  shown(list: OpenList): { readonly items: readonly LiveRow[]; readonly pending: number };
  /** The rows of a list have taken a message. */
  receive(list: OpenList, message: LiveMessage): void;
  /** A list has no listeners any more. */
  closed(): void;
}

/** The live lists of a client that have listeners. */
export interface OpenLists {
  readonly all: Set<OpenList>;
  /** Null while the client has nothing that writes optimistically. */
  overlays: ShownOverlays | null;
  /**
   * How many streams were asked for. What the service has answered before one was asked for is in
   * the rows of that one.
   */
  asked: number;
}

/** The open lists of the client with a transport. */
export function openListsOf({ parts }: Pick<Transport, "parts">): OpenLists {
  // The map gives each key the type that its only writer, this function, has put there.
  const known = parts.get(openListsOf) as OpenLists | undefined;
  const lists = known ?? { all: new Set(), overlays: null, asked: 0 };
  parts.set(openListsOf, lists);
  return lists;
}
