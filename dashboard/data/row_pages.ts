import type { Row } from "../service/resources.ts";

/** A page of rows, as the service answers. */
export interface LoadedPage {
  readonly items: readonly Row[];
  readonly nextCursor: string | null;
}

interface PageSlot {
  readonly cursor: string | null;
  start: number;
  count: number;
  /** Null where the rows were dropped: they are read again when they come into view. */
  rows: readonly Row[] | null;
  /** True if the rows are shown, but must be read again. */
  isOld: boolean;
}

/** How many pages keep their rows, however far the list is scrolled. */
const keptPages = 12;

/** How many rows after the view are read before they come into it. */
const ahead = 100;

/**
 * The rows of a list that is scrolled: pages are read when they come near the view, and dropped when
 * they are far from it. Cursors only lead onwards, so that the length is that of the rows that were
 * reached; the cursor of each page is kept to return to it.
 */
export class RowPages {
  /** Why the last page could not be read; null where it could. */
  error: Error | null = null;
  readonly #slots: PageSlot[] = [{ cursor: null, start: 0, count: 0, rows: null, isOld: false }];
  #next: string | null = null;
  #isLoading = false;
  #hasEnded = false;
  #view: readonly [first: number, last: number] = [0, 0];
  readonly #load: (cursor: string | null) => Promise<LoadedPage>;
  #changed: () => void;

  /** Reads the first page. `changed` is called after each page. */
  constructor(
    load: (cursor: string | null) => Promise<LoadedPage>,
    changed: () => void = () => {},
  ) {
    this.#load = load;
    this.#changed = changed;
    void this.#fill();
  }

  /** Calls another function after each page from now on. */
  follow(changed: () => void): void {
    this.#changed = changed;
  }

  /** Reads the rows again that are in view or come into view. Until then, the old rows are shown. */
  refresh(): void {
    for (const slot of this.#slots) slot.isOld = slot.rows !== null;
    this.retry();
  }

  /** How many rows were reached so far. */
  get length(): number {
    const last = this.#slots[this.#slots.length - 1];
    return last === undefined ? 0 : last.start + last.count;
  }

  /** Whether there are further rows. */
  get hasMore(): boolean {
    return this.#next !== null;
  }

  /** Whether the first page has not arrived. */
  get isEmptyYet(): boolean {
    return this.#slots[0]?.rows === null && this.#slots.length === 1 && this.error === null;
  }

  /** How many rows are in memory. */
  get keptRows(): number {
    return this.#slots.reduce((sum, { rows }) => sum + (rows?.length ?? 0), 0);
  }

  /** The row at a place; null where it is not in memory. */
  rowAt(index: number): Row | null {
    const slot = this.#slots[this.#slotAt(index)];
    return slot?.rows?.[index - slot.start] ?? null;
  }

  /** Shows a row that was written. `isSame` finds the row that it replaces. */
  replace(written: Row, isSame: (row: Row) => boolean): void {
    for (const slot of this.#slots) {
      slot.rows = slot.rows?.map((row) => isSame(row) ? written : row) ?? null;
    }
    this.#changed();
  }

  /** Says which rows are in view. */
  show(first: number, last: number): void {
    this.#view = [first, last];
    void this.#fill();
  }

  /** Reads what failed again. */
  retry(): void {
    this.error = null;
    void this.#fill();
  }

  /** Ends all reading. */
  end(): void {
    this.#hasEnded = true;
  }

  #slotAt(index: number): number {
    let low = 0;
    let high = this.#slots.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#slots[middle]?.start ?? 0) <= index) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  async #fill(): Promise<void> {
    if (this.#isLoading || this.#hasEnded || this.error !== null) return;
    const slot = this.#wanted();
    if (slot === null) return;
    this.#isLoading = true;
    try {
      const { items, nextCursor } = await this.#load(slot.cursor);
      if (this.#hasEnded) return;
      this.#place(slot, items, nextCursor);
    } catch (error) {
      this.error = error instanceof Error ? error : new Error(String(error));
    } finally {
      this.#isLoading = false;
    }
    if (this.#hasEnded) return;
    this.#changed();
    await this.#fill();
  }

  /** The page to read next: one in view first, then the one after all others. */
  #wanted(): PageSlot | null {
    const [first, last] = this.#view;
    for (let at = this.#slotAt(first); at < this.#slots.length; at++) {
      const slot = this.#slots[at];
      if (slot === undefined || slot.start > last + ahead) break;
      if (slot.rows === null || slot.isOld) return slot;
    }
    if (this.#next === null || last + ahead < this.length) return null;
    const slot = { cursor: this.#next, start: this.length, count: 0, rows: null, isOld: false };
    this.#slots.push(slot);
    this.#next = null;
    return slot;
  }

  #place(slot: PageSlot, rows: readonly Row[], nextCursor: string | null): void {
    slot.rows = rows;
    slot.isOld = false;
    const at = this.#slots.indexOf(slot);
    if (at === this.#slots.length - 1) this.#next = nextCursor;
    if (slot.count !== rows.length) {
      slot.count = rows.length;
      // Rows came or went since the page was first read.
      let start = slot.start;
      for (const later of this.#slots.slice(at)) {
        later.start = start;
        start += later.count;
      }
    }
    this.#dropFar(this.#slotAt(this.#view[0]));
  }

  #dropFar(center: number): void {
    this.#slots.forEach((slot, index) => {
      if (Math.abs(index - center) > keptPages / 2) slot.rows = null;
    });
  }
}
