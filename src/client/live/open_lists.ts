import type { Transport } from "../request/transport.ts";
import type { LiveMessage, LiveRow } from "./live_messages.ts";
import type { RowSet } from "./row_set.ts";

/** A live list with listeners, as the overlays of unconfirmed writes see it. */
export interface OpenList {
  /** Of its resource: `/api/posts`. */
  readonly resource: string;
  readonly set: RowSet;
  /** Whether an unconfirmed row belongs to it; undefined where the list does not know. */
  readonly accepts: ((row: never) => boolean) | undefined;
  /** Whether it takes unconfirmed new rows. */
  readonly takesNew: boolean;
  /** Shows what has changed. */
  show(): void;
  /** Null while the client has nothing that writes optimistically. */
  overlays: ShownOverlays | null;
}

/** The overlays of one live list, over the rows that the service has sent. */
export interface ShownOverlays {
  /** How many of them change what the list shows. */
  readonly count: number;
  /** The rows as they are shown. */
  merged(): readonly LiveRow[];
  /** A stream is asked for: what was acknowledged before is in it. */
  asking(): void;
  receive(message: LiveMessage): void;
  /** The rows have been committed. */
  confirm(): void;
  /** The list has no listeners any more. */
  close(): void;
}

/** The live lists of a client that have listeners. */
export interface OpenLists {
  readonly all: Set<OpenList>;
  /** Called for each list that opens; gives it its overlays. */
  opened(list: OpenList): void;
}

/** The open lists of the client with a transport. */
export function openListsOf({ parts }: Pick<Transport, "parts">): OpenLists {
  // The map gives each key the type that its only writer, this function, has put there.
  const known = parts.get(openListsOf) as OpenLists | undefined;
  const lists = known ?? { all: new Set(), opened() {} };
  parts.set(openListsOf, lists);
  return lists;
}
