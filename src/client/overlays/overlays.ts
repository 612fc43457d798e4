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
import type { Overlay } from "./overlay.ts";
import type { Transport } from "../../api/transport.ts";

interface ShownWrite {
  readonly overlay: Overlay;
  readonly rows: WeakMap<object, LiveRow>;
  readonly has: Set<OpenList>;
  readonly echoes: Set<OpenList>;
  /** Number of streams requested before the service confirmed the write; `Infinity` until then. */
  askedBefore: number;
  tag: unknown;
  confirm(): void;
}

/**
 * The unconfirmed writes of a client's outboxes. A list shows a write until the list receives the
 * write's event, the service refuses the write, or the service has confirmed the write and the
 * list's own rows contain its effect. No overlay expires by time alone.
 */
export class Overlays implements ShownOverlays {
  readonly #transport: Transport;
  readonly #lists: OpenLists;
  readonly #writes = new Map<string, ShownWrite>();
  readonly #created = new Map<string, string>();

  constructor(transport: Transport) {
    this.#transport = transport;
    this.#lists = openListsOf(transport);
  }

  add(overlay: Overlay): void {
    this.#writes.delete(overlay.id);
    this.#writes.set(overlay.id, {
      ...{ overlay, rows: new WeakMap(), has: new Set(), echoes: new Set() },
      ...{ askedBefore: Infinity, tag: undefined },
      confirm() {},
    });
    for (const list of this.#lists.all) if (list.resource === overlay.resource) list.show();
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
    // The cast is safe: the type of `liveList` makes `accepts` a function of this list's rows.
    const accepts = list.accepts as ((row: LiveRow) => boolean) | undefined;
    const changed = new Map<string, LiveRow | null>();
    const targets: string[] = [];
    for (const write of this.#writes.values()) {
      if (!this.#holds(list, write)) continue;
      const { kind } = write.overlay;
      const target = this.#targetOf(write.overlay);
      const before = (changed.has(target) ? changed : set.rows).get(target);
      if (before ? kind === "create" : kind !== "create" || !takesNew(list)) continue;
      targets.push(target);
      changed.set(target, kind === "delete" ? null : shownRow(write, list, before));
    }
    if (targets.length === 0) return undefined;
    for (const [target, row] of changed) {
      if (row && !(accepts?.(row) ?? true)) changed.set(target, null);
    }
    // Unconfirmed new rows move rows beyond the limit of the list.
    const items = set.after(changed).slice(0, set.limit);
    const shown = new Set<unknown>(items);
    const isVisible = (target: string) => set.rows.has(target) || shown.has(changed.get(target));
    return { items, pending: targets.filter(isVisible).length };
  }

  receive(list: OpenList, message: LiveMessage): void {
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
    if (write.askedBefore === Infinity || this.#holding(write).length > 0) return;
    // A later write can have this id by now: a job keeps its id when it is sent again.
    const { id } = write.overlay;
    if (this.#writes.get(id) === write) this.#writes.delete(id);
    write.confirm();
  }

  #targetOf({ id, key, of }: Overlay): string {
    const creation = of ?? id;
    return key === null ? this.#created.get(creation) ?? creation : rowIdText(key);
  }

  #shows({ overlay }: ShownWrite, list: OpenList): boolean {
    const creation = this.#writes.get(overlay.of ?? overlay.id);
    if (list.set.rows.has(this.#targetOf(overlay))) return overlay.kind !== "create";
    return takesNew(list) && creation?.overlay.kind === "create" && !creation.has.has(list);
  }

  #isDone(write: ShownWrite, list: OpenList): boolean {
    const { askedBefore, tag, overlay } = write;
    const row = list.set.rows.get(this.#targetOf(overlay));
    return askedBefore < Infinity && (
      list.set.asked > askedBefore || !this.#shows(write, list) ||
      (tag !== undefined && plainTag(row?._etag) === plainTag(tag))
    );
  }
}

/** Returns the row after a write. Returns one object for all calls with the same `before`. */
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

function takesNew({ filter, accepts }: OpenList): boolean {
  return !filter || !!accepts;
}

/** How long to wait for a write's event before opening another stream, in milliseconds. */
const lateMs = 2_000;

export function overlaysOf(transport: Transport): Overlays {
  // The cast is safe: only this function sets this member.
  return (openListsOf(transport).overlays ??= new Overlays(transport)) as Overlays;
}
