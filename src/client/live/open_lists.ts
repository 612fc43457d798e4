import type { FilterInput } from "../../api/checked_text.ts";
import type { LiveConnection, LiveMessage, LiveRow } from "./live_messages.ts";
import type { RowSet } from "./row_set.ts";
import type { Transport } from "../../api/transport.ts";

export interface OpenList {
  readonly resource: string;
  readonly set: RowSet;
  readonly accepts: ((row: never) => boolean) | undefined;
  readonly filter: FilterInput | undefined;
  /** The rows including unconfirmed writes, sorted, also beyond the limit. Undefined if unknown. */
  sorted?: readonly LiveRow[] | undefined;
  /** The unconfirmed writes whose effects the list shows. */
  visible?: ReadonlySet<unknown> | undefined;
  show(): void;
}

export interface ShownRows {
  readonly items: readonly LiveRow[];
  readonly pending: number;
}

export interface ShownOverlays {
  /** Returns the rows that a list shows. Undefined if no unconfirmed write affects the list. */
  shown(list: OpenList): ShownRows | undefined;
  receive(list: OpenList, message: LiveMessage): void;
  closed(): void;
}

export interface OpenLists {
  /** The live lists that have listeners. */
  readonly all: Set<OpenList>;
  connection?: LiveConnection;
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
