import { connectionOf } from "../live/live_connection.ts";
import type { LiveRow, LiveRowId } from "../live/live_messages.ts";
import { type OpenList, type OpenLists, openListsOf } from "../live/open_lists.ts";
import { idText } from "../live/row_set.ts";
import type { Transport } from "../request/transport.ts";
import { ListOverlays } from "./list_overlays.ts";
import type { Overlay } from "./overlay.ts";

/** The overlays of a client: between what writes and what shows. */
export class Overlays {
  readonly #lists: OpenLists;
  readonly #overlays = new Map<string, Overlay>();
  readonly #views = new Map<OpenList, ListOverlays>();
  /** Of overlays that the service has acknowledged, by their ids. */
  readonly #confirmations = new Map<string, () => void>();

  /** Shows itself in the lists of a client that are open, and in those that will be. */
  constructor(transport: Transport) {
    this.#lists = openListsOf(transport);
    this.#lists.opened = (list) => {
      const view = new ListOverlays(list, {
        now: transport.environment.now,
        reopen: () => connectionOf(transport).reopen(),
        dropped: (id) => this.#confirm(id),
        closed: () => {
          this.#views.delete(list);
          for (const id of [...this.#confirmations.keys()]) this.#confirm(id);
        },
      });
      this.#views.set(list, view);
      list.overlays = view;
      for (const overlay of this.#overlays.values()) {
        if (overlay.path === list.resource && !this.#confirmations.has(overlay.id)) {
          view.add(overlay);
        }
      }
    };
    for (const list of this.#lists.all) this.#lists.opened(list);
  }

  /** Shows a write in all live lists of its resource; one with the same id is replaced. */
  add(overlay: Overlay): void {
    this.#overlays.set(overlay.id, overlay);
    for (const [list, view] of this.#views) {
      if (list.resource !== overlay.path) continue;
      view.add(overlay);
      list.show();
    }
  }

  /** Resolves when each list has what the write did, and shows it without the overlay. */
  acknowledge(id: string, row: LiveRow | null): Promise<void> {
    return new Promise((resolve) => {
      this.#confirmations.set(id, resolve);
      for (const [list, view] of this.#views) if (view.acknowledge(id, row)) list.show();
      this.#confirm(id);
    });
  }

  /** Takes a write back, because the service has refused it. */
  reject(id: string): void {
    this.#overlays.delete(id);
    for (const [list, view] of this.#views) if (view.drop(id)) list.show();
  }

  /** The row as a live list has it from the service, with its `_etag`; null where none has it. */
  rowOf(path: string, key: LiveRowId): LiveRow | null {
    for (const { resource, set } of this.#lists.all) {
      const row = resource === path ? set.rows.get(idText(key)) : undefined;
      if (row !== undefined) return row;
    }
    return null;
  }

  #confirm(id: string): void {
    if ([...this.#views.values()].some((view) => view.holds(id))) return;
    this.#confirmations.get(id)?.();
    if (this.#confirmations.delete(id)) this.#overlays.delete(id);
  }
}

/** The overlays of the client with a transport: made once. */
export function overlaysOf(transport: Transport): Overlays {
  const { parts } = transport;
  // The map gives each key the type that its only writer, this function, has put there.
  const known = parts.get(overlaysOf) as Overlays | undefined;
  const overlays = known ?? new Overlays(transport);
  parts.set(overlaysOf, overlays);
  return overlays;
}
