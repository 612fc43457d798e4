import { type OpenList, openListsOf } from "../live/open_lists.ts";
import type { LiveRow, RowId } from "../live/live_messages.ts";
import { idText } from "../live/row_set.ts";
import { connectionOf } from "../live/live_connection.ts";
import type { Transport } from "../request/transport.ts";
import { createListOverlays, type OverlayView } from "./list_overlays.ts";

/** A write that live lists show although no stream has confirmed it yet. */
export interface Overlay {
  /** Its `Service-Optimistic-Id`, by which a stream confirms it. */
  readonly id: string;
  /** The path of its resource: `/api/posts`. */
  readonly path: string;
  readonly kind: "create" | "update" | "delete";
  /** The row that it changes; null for a new row, and for one that `of` names. */
  readonly key: RowId | null;
  /** The overlay that creates the row that this one changes, where no key is known yet. */
  readonly of?: string | null;
  /** The fields that it sets, and no others. */
  readonly fields: LiveRow;
}

/** The overlays of a client: between what writes and what shows. */
export interface Overlays {
  /** Shows a write in all live lists of its resource; one with the same id is replaced. */
  add(overlay: Overlay): void;
  /** Resolves when each list has what the write did, and shows it without the overlay. */
  acknowledge(id: string, row: LiveRow | null): Promise<void>;
  /** Takes a write back, because the service has refused it. */
  reject(id: string): void;
  /** The row as a live list has it from the service, with its `_etag`; null where none has it. */
  rowOf(path: string, key: RowId): LiveRow | null;
}

/** The overlays of the client with a transport. */
export function overlaysOf(transport: Transport): Overlays {
  const { parts } = transport;
  // The map gives each key the type that its only writer, this function, has put there.
  const known = parts.get(overlaysOf) as Overlays | undefined;
  const overlays = known ?? createOverlays(transport);
  parts.set(overlaysOf, overlays);
  return overlays;
}

function createOverlays(transport: Transport): Overlays {
  const lists = openListsOf(transport);
  const overlays = new Map<string, Overlay>();
  const views = new Map<OpenList, OverlayView>();
  const confirmations = new Map<string, () => void>();

  function settle(id: string): void {
    if ([...views.values()].some((view) => view.holds(id))) return;
    confirmations.get(id)?.();
    if (confirmations.delete(id)) overlays.delete(id);
  }

  lists.opened = (list) => {
    const view = createListOverlays(list, {
      now: transport.environment.now,
      reopen: () => connectionOf(transport).reopen(),
      dropped: settle,
      closed() {
        views.delete(list);
        for (const id of [...confirmations.keys()]) settle(id);
      },
    });
    views.set(list, view);
    list.overlays = view;
    for (const overlay of overlays.values()) {
      if (overlay.path === list.path && !confirmations.has(overlay.id)) view.add(overlay);
    }
  };
  for (const list of lists.all) lists.opened(list);

  return {
    add(overlay) {
      overlays.set(overlay.id, overlay);
      for (const [list, view] of views) {
        if (list.path !== overlay.path) continue;
        view.add(overlay);
        list.show();
      }
    },
    acknowledge: (id, row) =>
      new Promise((resolve) => {
        confirmations.set(id, resolve);
        for (const [list, view] of views) if (view.acknowledge(id, row)) list.show();
        settle(id);
      }),
    reject(id) {
      overlays.delete(id);
      for (const [list, view] of views) if (view.drop(id)) list.show();
    },
    rowOf(path, key) {
      for (const { path: own, set } of lists.all) {
        const row = own === path ? set.rows.get(idText(key)) : undefined;
        if (row !== undefined) return row;
      }
      return null;
    },
  };
}
