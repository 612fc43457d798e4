import type { LiveMessage, LiveRow, LiveRowId } from "../live/live_messages.ts";
import type { OpenList, ShownOverlays } from "../live/open_lists.ts";
import { placeInOrder } from "../live/row_order.ts";
import { idOf, idText, takeOut } from "../live/row_set.ts";
import type { Overlay } from "./overlay.ts";

/** What the overlays of a list need beside the list. */
export interface ListOverlaysOptions {
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
 * The overlays of one live list. One leaves by its own event, by rejection, or once the list has
 * read everything up to a moment after the service has acknowledged the write; never because of time
 * alone.
 */
export class ListOverlays implements ShownOverlays {
  readonly #list: OpenList;
  readonly #options: ListOverlaysOptions;
  readonly #held = new Map<string, HeldOverlay>();
  /** The ids of rows that were created here, by the optimistic id of their creation. */
  readonly #created = new Map<string, string>();
  /** The optimistic ids of events that are not committed yet, with the ids of their rows. */
  #echoes = new Map<string, LiveRowId>();
  #asked = 0;
  #begun = 0;

  /** Begins without overlays. */
  constructor(list: OpenList, options: ListOverlaysOptions) {
    this.#list = list;
    this.#options = options;
  }

  get count(): number {
    return [...this.#held.values()].filter((one) => this.#shows(one)).length;
  }

  asking(): void {
    this.#asked++;
  }

  receive(message: LiveMessage): void {
    if (message.type === "opened") {
      this.#echoes.clear();
      if (message.isOld !== true) this.#begun = this.#asked;
    } else if ("id" in message) {
      const mark = "item" in message ? message.item._optimisticId : message._optimisticId;
      if (typeof mark === "string") this.#echoes.set(mark, message.id);
    }
  }

  confirm(): void {
    const { now, reopen } = this.#options;
    for (const [id, rowId] of this.#echoes) {
      if (this.#held.get(id)?.overlay.kind === "create") this.#created.set(id, idText(rowId));
      this.drop(id);
    }
    this.#echoes.clear();
    for (const [id, one] of this.#held) if (this.#isDone(one)) this.drop(id);
    const isLate = ({ askedBefore, acknowledgedAt }: HeldOverlay) =>
      askedBefore === this.#asked && now() - acknowledgedAt > lateMs;
    if ([...this.#held.values()].some(isLate)) reopen();
  }

  close(): void {
    this.#options.closed();
  }

  add(overlay: Overlay): void {
    this.#held.set(overlay.id, { overlay, askedBefore: null, acknowledgedAt: 0, newId: null });
  }

  /** The service has carried it out. Gives whether it is dropped, since the list has it already. */
  acknowledge(id: string, row: LiveRow | null): boolean {
    const { rows, description } = this.#list.set;
    const one = this.#held.get(id);
    if (one === undefined) return false;
    one.askedBefore = this.#asked;
    one.acknowledgedAt = this.#options.now();
    if (row !== null && one.overlay.kind === "create" && description !== null) {
      one.newId = idText(idOf(row, description.primaryKey));
      this.#created.set(id, one.newId);
    }
    const tag = row?._etag;
    const isSame = tag !== undefined && rows.get(this.#targetOf(one.overlay))?._etag === tag;
    return (isSame || this.#isDone(one)) && this.drop(id);
  }

  /** Gives whether it was there. */
  drop(id: string): boolean {
    const isHeld = this.#held.delete(id);
    if (isHeld) this.#options.dropped(id);
    return isHeld;
  }

  holds(id: string): boolean {
    return this.#held.has(id);
  }

  merged(): readonly LiveRow[] {
    const { set, takesNew } = this.#list;
    if (this.#held.size === 0) return set.items;
    // The function takes the rows of this list, as the types of `liveList` say.
    const accepts = (this.#list.accepts ?? (() => true)) as (row: LiveRow) => boolean;
    const items = [...set.items];
    const shown = new Map<string, LiveRow | null>();
    for (const { overlay } of this.#held.values()) {
      const { kind, fields } = overlay;
      const target = this.#targetOf(overlay);
      const known = shown.get(target);
      const before = known === undefined ? set.rows.get(target) ?? null : known;
      if (before === null ? kind !== "create" || !takesNew : kind === "create") continue;
      if (before !== null) takeOut(before, items, set.compare);
      const row = kind === "delete"
        ? null
        : { ...before ?? { _new: { id: overlay.id } }, ...fields, _pending: true };
      shown.set(target, row);
      if (row !== null && accepts(row)) {
        items.splice(placeInOrder(row, items, set.compare), 0, row);
      }
    }
    return items;
  }

  /** The text of the id of the row that an overlay changes, or a mark of the one that creates it. */
  #targetOf({ kind, id, key, of }: Overlay): string {
    if (kind === "create") return newMark + id;
    return key === null ? this.#created.get(of ?? "") ?? newMark + of : idText(key);
  }

  #shows({ overlay }: HeldOverlay): boolean {
    const { set, takesNew } = this.#list;
    const target = this.#targetOf(overlay);
    return set.rows.has(target) || (takesNew && this.#held.has(target.slice(newMark.length)));
  }

  /** Whether the rows of the service already say what an acknowledged overlay has done. */
  #isDone(one: HeldOverlay): boolean {
    if (one.askedBefore === null) return false;
    return this.#begun > one.askedBefore || !this.#shows(one) ||
      this.#list.set.rows.has(one.newId ?? newMark);
  }
}

/** No text of an id begins with it. */
const newMark = "\0";

/** An event comes within milliseconds of the answer; where it does not, the list asks. */
const lateMs = 2_000;
