import { connectionOf } from "../live/direct_connection.ts";
import type { LiveMessage, LiveRow } from "../live/live_messages.ts";
import {
  type OpenList,
  type OpenLists,
  openListsOf,
  type ShownOverlays,
  type ShownRows,
} from "../live/open_lists.ts";
import { rowIdOf, rowIdText } from "../live/row_set.ts";
import { plainTag } from "../request/plain_tag.ts";
import type { DescribedFilter, matchesDescribed } from "../../filter/match/described_filter.ts";
import type { Overlay } from "./overlay.ts";
import type { Transport } from "../../api/transport.ts";

interface ShownWrite {
  overlay: Overlay;
  rows: WeakMap<object, LiveRow>;
  readonly has: Set<OpenList>;
  readonly echoes: Set<OpenList>;
  /** The number of streams that the client had requested when the service confirmed the write. */
  asked?: number;
  tag?: unknown;
  /** Undefined until the service has confirmed the write. */
  confirm?: () => void;
}

/**
 * The unconfirmed writes of a client. A list shows a write until its event arrives, the service
 * refuses it, or the service has confirmed it and the list's own rows contain its effect.
 */
export class Overlays implements ShownOverlays {
  readonly #transport: Transport;
  readonly #lists: OpenLists;
  readonly #writes = new Map<string, ShownWrite>();
  readonly #created = new Map<string, string>();
  #matches: typeof matchesDescribed | undefined;

  constructor(transport: Transport) {
    this.#transport = transport;
    this.#lists = openListsOf(transport);
  }

  add(overlay: Overlay): void {
    const { id, resource } = overlay;
    this.#writes.delete(id);
    this.#writes.set(id, { overlay, rows: new WeakMap(), has: new Set(), echoes: new Set() });
    this.#show(resource);
  }

  async acknowledge(id: string, row: LiveRow | null): Promise<void> {
    const { after } = this.#transport.environment;
    const write = this.#writes.get(id);
    if (write === undefined) return;
    write.asked = this.#lists.asked;
    write.tag = row?._etag;
    const cancel = after(lateMs, () => connectionOf(this.#transport).reopen());
    await new Promise<void>((resolve) => {
      write.confirm = resolve;
      for (const list of this.#holding(write)) {
        const { description } = list.set;
        if (row && description && write.overlay.kind === "create") {
          this.#created.set(id, rowIdText(rowIdOf(row, description.primaryKey)));
          // The service may have changed values, so that the row belongs to other lists.
          write.overlay = { ...write.overlay, fields: row };
          write.rows = new WeakMap();
          this.shown(list);
        }
        if (!this.#isDone(write, list)) continue;
        write.has.add(list);
        list.show();
      }
      this.#resolve(write);
    });
    cancel();
  }

  reject(id: string): void {
    const write = this.#writes.get(id);
    this.#writes.delete(id);
    if (write) this.#show(write.overlay.resource);
  }

  rowOf(path: string, key: string): LiveRow | null {
    for (const { resource, set } of this.#lists.all) {
      const row = resource === path && set.rows.get(key);
      if (row) return row;
    }
    return null;
  }

  shown(list: OpenList): ShownRows | undefined {
    const { set } = list;
    const changed = new Map<string, LiveRow | null>();
    const writes: ShownWrite[] = [];
    list.visible = undefined;
    for (const write of this.#writes.values()) {
      if (!this.#holds(list, write)) continue;
      const { kind } = write.overlay;
      const target = this.#targetOf(write.overlay);
      const before = (changed.has(target) ? changed : set.rows).get(target);
      if (!before !== (kind === "create")) continue;
      writes.push(write);
      changed.set(target, kind === "delete" ? null : shownRow(write, list, before));
    }
    if (writes.length === 0) return undefined;
    for (const [target, row] of changed) {
      if (row && !(this.#belongs(list, row) ?? set.rows.has(target))) changed.set(target, null);
    }
    // The rows that the list has shown before are sorted, so only other rows are inserted.
    const wanted = new Set([...set.without(changed), ...changed.values()]);
    const known = (list.sorted ?? []).filter((row) => wanted.delete(row));
    list.sorted = set.insert(known, wanted);
    // Unconfirmed new rows count towards the limit, and rows beyond the limit are not shown.
    const items = list.sorted.slice(0, set.limit);
    const shown = new Set<unknown>(items);
    const visible = writes.filter(({ overlay }) => {
      const target = this.#targetOf(overlay);
      return set.rows.has(target) || shown.has(changed.get(target));
    });
    list.visible = new Set(visible);
    return { items, pending: visible.length };
  }

  receive(list: OpenList, message: LiveMessage): void {
    if (list.set.description?.filter) this.#evaluation();
    if ("id" in message) {
      const { _optimisticId } = "item" in message ? message.item : message;
      // The cast is safe: no write has an id that is not a string.
      const write = this.#writes.get(_optimisticId as string);
      // The write can also have changed rows of other resources.
      if (write?.overlay.resource !== list.resource) return;
      write.echoes.add(list);
      const { id, kind } = write.overlay;
      if (kind === "create") this.#created.set(id, rowIdText(message.id));
    } else {
      // A new description may have other field types, which determine the order.
      if (message.type === "opened") list.sorted = undefined;
      for (const write of this.#writes.values()) {
        if (message.type === "opened") write.echoes.delete(list);
        else if (
          message.type === "token" && (write.echoes.has(list) || this.#isDone(write, list))
        ) {
          write.has.add(list);
          this.#resolve(write);
        }
      }
    }
  }

  closed(): void {
    for (const write of this.#writes.values()) this.#resolve(write);
  }

  #show(resource: string): void {
    for (const list of this.#lists.all) if (list.resource === resource) list.show();
  }

  #holding(write: ShownWrite): readonly OpenList[] {
    return [...this.#lists.all].filter((list) => this.#holds(list, write));
  }

  #holds(list: OpenList, { overlay, has }: ShownWrite): boolean {
    return list.resource === overlay.resource && this.#lists.all.has(list) && !has.has(list);
  }

  #resolve(write: ShownWrite): void {
    if (!write.confirm || this.#holding(write).length > 0) return;
    // A later write can have this id by now: a job keeps its id when it is sent again.
    const { id } = write.overlay;
    if (this.#writes.get(id) === write) this.#writes.delete(id);
    write.confirm();
  }

  #targetOf({ id, key, of }: Overlay): string {
    const creation = of ?? id;
    return key ?? this.#created.get(creation) ?? creation;
  }

  /** Returns true if an unconfirmed row belongs to a list, or null if only the service knows. */
  #belongs({ accepts, filter, set: { description } }: OpenList, row: LiveRow) {
    // The cast is safe: the type of `liveList` makes `accepts` a function of this list's rows.
    if (accepts || !filter) return accepts?.(row as never) ?? true;
    // The cast is safe: the service describes filters in this form.
    const described = description?.filter as DescribedFilter | undefined;
    return described && this.#evaluation()(described, row);
  }

  /** Returns the evaluation of filters: a function that returns null until its code is loaded. */
  #evaluation(): typeof matchesDescribed {
    return this.#matches ??= (import("../../filter/match/described_filter.ts").then((loaded) => {
      this.#matches = loaded.matchesDescribed;
      for (const list of this.#lists.all) list.show();
      // If the code cannot be loaded, for instance without a network, the next call tries again.
    }, () => this.#matches = undefined),
      () => null);
  }

  #isDone(write: ShownWrite, list: OpenList): boolean {
    const { asked, confirm, tag, overlay } = write;
    if (!confirm || overlay.resource !== list.resource) return false;
    const row = list.set.rows.get(this.#targetOf(overlay));
    const isShown = row ? overlay.kind !== "create" : list.visible?.has(write);
    // The `!` is safe: the service has confirmed the write.
    return list.set.asked > asked! || !isShown ||
      (!!tag && plainTag(row?._etag) === plainTag(tag));
  }
}

/** Returns the row after a write. Returns the same object for all calls with the same `before`. */
function shownRow(
  { overlay: { id, resource, fields, computed }, rows }: ShownWrite,
  list: OpenList,
  before: LiveRow | null | undefined,
): LiveRow {
  const key = before ?? list.set.description ?? list;
  const known = rows.get(key);
  if (known) return known;
  const old = before ?? { ...list.set.description?.defaults, _new: { id } };
  const row = { ...old, ...fields, _pending: true };
  const complete = { ...row, ...computed?.(row, resource) };
  rows.set(key, complete);
  return complete;
}

/** How long to wait for a write's event before opening another stream, in milliseconds. */
const lateMs = 2_000;

export function overlaysOf(transport: Transport): Overlays {
  // The cast is safe: only this function sets this member.
  return (openListsOf(transport).overlays ??= new Overlays(transport)) as Overlays;
}
