import type { ListOverlays, OpenList } from "../live/open_lists.ts";
import type { LiveRow, RowId } from "../live/live_messages.ts";
import { placeOf } from "../live/row_order.ts";
import { idOf, idText, takeOut } from "../live/row_set.ts";
import type { Overlay } from "./overlays.ts";

/** The overlays of one live list, as the overlays of the client see them. */
export interface OverlayView extends ListOverlays {
  add(overlay: Overlay): void;
  /** The service has carried it out. Gives whether it is dropped, since the list has it already. */
  acknowledge(id: string, row: LiveRow | null): boolean;
  /** Gives whether it was there. */
  drop(id: string): boolean;
  holds(id: string): boolean;
}

/** What the overlays of a list need beside the list. */
export interface OverlayViewOptions {
  now(): number;
  /** Opens the stream of the list again. */
  reopen(): void;
  /** The list does not hold an overlay any more. */
  dropped(id: string): void;
  closed(): void;
}

interface HeldOverlay {
  readonly overlay: Overlay;
  /** The streams that were asked for before the service acknowledged it; null until then. */
  askedBefore: number | null;
  acknowledgedAt: number;
  /** Of a new row: the text of its id, once the service has answered. */
  newId: string | null;
}

/**
 * An overlay leaves by its own event, by rejection, or once the list has read everything up to a
 * moment after the service has acknowledged the write; never because of time alone.
 */
export function createListOverlays(list: OpenList, options: OverlayViewOptions): OverlayView {
  const { set, takesNew } = list;
  // The function takes the rows of this list, as the types of `liveList` say.
  const accepts = (list.accepts ?? (() => true)) as (row: LiveRow) => boolean;
  const { now, reopen, dropped, closed } = options;
  const held = new Map<string, HeldOverlay>();
  /** The ids of rows that were created here, by the optimistic id of their creation. */
  const created = new Map<string, string>();
  /** The optimistic ids of events that are not committed yet, with the ids of their rows. */
  let echoes = new Map<string, RowId>();
  let asked = 0;
  let begun = 0;

  function drop(id: string): boolean {
    const isHeld = held.delete(id);
    if (isHeld) dropped(id);
    return isHeld;
  }

  /** The text of the id of the row that an overlay changes, or a mark of the one that creates it. */
  function targetOf({ kind, id, key, of }: Overlay): string {
    if (kind === "create") return newMark + id;
    return key === null ? created.get(of ?? "") ?? newMark + of : idText(key);
  }

  function shows({ overlay }: HeldOverlay): boolean {
    const target = targetOf(overlay);
    return set.rows.has(target) || (takesNew && held.has(target.slice(newMark.length)));
  }

  /** Whether the rows of the service already say what an acknowledged overlay has done. */
  function isDone(one: HeldOverlay): boolean {
    if (one.askedBefore === null) return false;
    return begun > one.askedBefore || !shows(one) || set.rows.has(one.newId ?? newMark);
  }

  return {
    get count() {
      return [...held.values()].filter(shows).length;
    },
    asking: () => void asked++,
    receive(message) {
      if (message.type === "opened") {
        echoes = new Map();
        if (message.isOld !== true) begun = asked;
      } else if (message.type === "removed") echo(message._optimisticId, message.id);
      else if ("item" in message) echo(message.item._optimisticId, message.id);
    },
    confirm() {
      for (const [id, rowId] of echoes) {
        if (held.get(id)?.overlay.kind === "create") created.set(id, idText(rowId));
        drop(id);
      }
      echoes = new Map();
      for (const [id, one] of held) if (isDone(one)) drop(id);
      const isLate = ({ askedBefore, acknowledgedAt }: HeldOverlay) =>
        askedBefore === asked && now() - acknowledgedAt > lateMs;
      if ([...held.values()].some(isLate)) reopen();
    },
    close: closed,
    add: (overlay) =>
      void held.set(overlay.id, { overlay, askedBefore: null, acknowledgedAt: 0, newId: null }),
    acknowledge(id, row) {
      const one = held.get(id);
      if (one === undefined) return false;
      one.askedBefore = asked;
      one.acknowledgedAt = now();
      if (row !== null && one.overlay.kind === "create" && set.description !== null) {
        one.newId = idText(idOf(row, set.description.primaryKey));
        created.set(id, one.newId);
      }
      const tag = row?._etag;
      const isSame = tag !== undefined && set.rows.get(targetOf(one.overlay))?._etag === tag;
      return (isSame || isDone(one)) && drop(id);
    },
    drop,
    holds: (id) => held.has(id),
    merged() {
      if (held.size === 0) return set.items;
      const items = [...set.items];
      const shown = new Map<string, LiveRow | null>();
      for (const { overlay: { kind, fields, ...overlay } } of held.values()) {
        const target = targetOf({ ...overlay, kind, fields });
        const known = shown.get(target);
        const before = known === undefined ? set.rows.get(target) ?? null : known;
        if (before === null ? kind !== "create" || !takesNew : kind === "create") continue;
        if (before !== null) takeOut(before, items, set.compare);
        const row = kind === "delete" ? null : { ...before, ...fields, _pending: true };
        shown.set(target, row);
        if (row !== null && accepts(row)) {
          items.splice(placeOf(row, items, set.compare), 0, row);
        }
      }
      return items;
    },
  };

  function echo(optimisticId: unknown, rowId: RowId): void {
    if (typeof optimisticId === "string") echoes.set(optimisticId, rowId);
  }
}

/** No text of an id begins with it. */
const newMark = "\0";

/** An event comes within milliseconds of the answer; where it does not, the list asks. */
const lateMs = 2_000;
