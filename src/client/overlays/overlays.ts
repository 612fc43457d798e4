import { connectionOf } from "../live/direct_connection.ts";
import type { LiveMessage, LiveRow, LiveRowId } from "../live/live_messages.ts";
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
  askedBefore?: number;
  tag?: unknown;
  /** Undefined until the service has confirmed the write. */
  confirm?: () => void;
}

/**
 * The unconfirmed writes of a client's outboxes. A list shows a write until the list receives the
 * write's event, the service refuses the write, or the service has confirmed the write and the
 * list's own rows contain its effect. An overlay does not expire after a certain time.
 */
export class Overlays implements ShownOverlays {
  readonly #transport: Transport;
  readonly #lists: OpenLists;
  readonly #writes = new Map<string, ShownWrite>();
  readonly #created = new Map<string, string>();
  /** The writes whose effects each list shows. */
  readonly #visible = new WeakMap<OpenList, ReadonlySet<ShownWrite>>();
  #matches: typeof matchesDescribed | undefined;

  constructor(transport: Transport) {
    this.#transport = transport;
    this.#lists = openListsOf(transport);
  }

  add(overlay: Overlay): void {
    const { id, resource } = overlay;
    this.#writes.delete(id);
    this.#writes.set(id, { overlay, rows: new WeakMap(), has: new Set(), echoes: new Set() });
    for (const list of this.#lists.all) if (list.resource === resource) list.show();
  }

  async acknowledge(id: string, row: LiveRow | null): Promise<void> {
    const { after } = this.#transport.environment;
    const write = this.#writes.get(id);
    if (write === undefined) return;
    write.askedBefore = this.#lists.asked;
    write.tag = row?._etag;
    await new Promise<void>((resolve) => {
      const cancel = after(lateMs, () => connectionOf(this.#transport).reopen());
      write.confirm = () => {
        cancel();
        resolve();
      };
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
  }

  reject(id: string): void {
    const write = this.#writes.get(id);
    if (write === undefined) return;
    const lists = this.#holding(write);
    this.#writes.delete(id);
    for (const list of lists) list.show();
  }

  rowOf(path: string, key: LiveRowId): LiveRow | null {
    for (const { resource, set } of this.#lists.all) {
      const row = resource === path && set.rows.get(rowIdText(key));
      if (row) return row;
    }
    return null;
  }

  shown(list: OpenList): ShownRows | undefined {
    const { set } = list;
    const changed = new Map<string, LiveRow | null>();
    const writes: ShownWrite[] = [];
    this.#visible.delete(list);
    for (const write of this.#writes.values()) {
      if (!this.#holds(list, write)) continue;
      const { kind } = write.overlay;
      const target = this.#targetOf(write.overlay);
      const before = (changed.has(target) ? changed : set.rows).get(target);
      if (before ? kind === "create" : kind !== "create") continue;
      writes.push(write);
      changed.set(target, kind === "delete" ? null : shownRow(write, list, before));
    }
    if (writes.length === 0) return undefined;
    for (const [target, row] of changed) {
      if (row && !(this.#belongs(list, row) ?? set.rows.has(target))) changed.set(target, null);
    }
    // Unconfirmed new rows count towards the limit, and rows beyond the limit are not shown.
    const items = set.after(changed).slice(0, set.limit);
    const shown = new Set<unknown>(items);
    const visible = writes.filter(({ overlay }) => {
      const target = this.#targetOf(overlay);
      return set.rows.has(target) || shown.has(changed.get(target));
    });
    this.#visible.set(list, new Set(visible));
    return { items, pending: visible.length };
  }

  receive(list: OpenList, message: LiveMessage): void {
    if (list.set.description?.filter) this.#evaluation();
    for (const write of [...this.#writes.values()]) {
      const { overlay: { id, kind, resource }, echoes, has } = write;
      if (resource !== list.resource) continue;
      if (message.type === "opened") echoes.delete(list);
      else if (message.type === "token") {
        if (!echoes.has(list) && !this.#isDone(write, list)) continue;
        has.add(list);
        this.#resolve(write);
      } else if ("id" in message) {
        const { _optimisticId } = "item" in message ? message.item : message;
        if (_optimisticId !== id) continue;
        echoes.add(list);
        if (kind === "create") this.#created.set(id, rowIdText(message.id));
      }
    }
  }

  closed(): void {
    for (const write of [...this.#writes.values()]) this.#resolve(write);
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
    return key === null ? this.#created.get(creation) ?? creation : rowIdText(key);
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
    const { askedBefore, confirm, tag, overlay } = write;
    const row = list.set.rows.get(this.#targetOf(overlay));
    const isShown = row ? overlay.kind !== "create" : this.#visible.get(list)?.has(write);
    // The `!` is safe: the service has confirmed the write.
    return !!confirm && (list.set.asked > askedBefore! || !isShown ||
      (tag !== undefined && plainTag(row?._etag) === plainTag(tag)));
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
