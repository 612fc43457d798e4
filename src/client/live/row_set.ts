import type { LiveRow, LiveRowId, RowDescription, RowsEvent } from "./live_messages.ts";
import { compareBy, type CompareRows, placeInOrder } from "./row_order.ts";

/** The rows of a live list as the service has sent them, in their order. */
export class RowSet {
  readonly #orderBy: readonly string[];
  #rows = new Map<string, LiveRow>();
  /** The rows that will replace all others; null while there is no snapshot under way. */
  #next: Map<string, LiveRow> | null = null;
  #changes = new Map<string, LiveRow | null>();
  /** A new list after each commit, never changed. */
  items: readonly LiveRow[] = [];
  compare: CompareRows = () => 0;
  /** Null before the first stream has said it. */
  description: RowDescription | null = null;

  /** Begins without rows. */
  constructor(orderBy: readonly string[]) {
    this.#orderBy = orderBy;
  }

  /** By the texts of their ids. */
  get rows(): ReadonlyMap<string, LiveRow> {
    return this.#rows;
  }

  /** A stream begins: with all rows, or after what is here. */
  begin(description: RowDescription, isResumed: boolean): void {
    const { primaryKey, types } = description;
    this.description = { primaryKey, types };
    this.compare = compareBy([...this.#orderBy, ...primaryKey], types);
    this.#changes.clear();
    this.#next = isResumed ? null : new Map();
  }

  /** Takes an event, which shows at the next commit. */
  take(event: RowsEvent): void {
    if (event.type === "invalidate") {
      this.#changes.clear();
      this.#next = new Map();
    } else if (event.type === "existing") {
      const key = this.description?.primaryKey ?? [];
      event.items.forEach((row, index) =>
        this.#next?.set(idText(event.ids?.[index] ?? idOf(row, key)), row)
      );
    } else {
      const id = idText(event.id);
      const row = "item" in event ? withoutMark(event.item) : null;
      if (this.#next === null) this.#changes.set(id, row);
      else if (row !== null) this.#next.set(id, row);
      else this.#next.delete(id);
    }
  }

  /** Shows what was taken. */
  commit(): void {
    if (this.#next !== null) {
      this.#rows = this.#next;
      this.#next = null;
      this.items = this.#sorted();
    } else if (this.#changes.size > 0) this.#apply();
    this.#changes.clear();
  }

  /** Each change moves one row of a copy that is made once; of many, everything is sorted again. */
  #apply(): void {
    const isSorting = this.#changes.size > 100 + this.items.length / 16;
    const list = [...this.items];
    for (const [id, row] of this.#changes) {
      if (!isSorting) {
        const before = this.#rows.get(id);
        if (before !== undefined) takeOut(before, list, this.compare);
        if (row !== null) list.splice(placeInOrder(row, list, this.compare), 0, row);
      }
      if (row === null) this.#rows.delete(id);
      else this.#rows.set(id, row);
    }
    this.items = isSorting ? this.#sorted() : list;
  }

  #sorted(): LiveRow[] {
    return [...this.#rows.values()].sort(this.compare);
  }
}

/** The mark says whose write an event confirms, and is no field of the row. */
function withoutMark({ _optimisticId, ...row }: LiveRow): LiveRow {
  return row;
}

/** A text for each id of the rows of one table; those of a composite key are compared as texts. */
export function idText(id: LiveRowId): string {
  return Array.isArray(id) ? JSON.stringify(id.map(String)) : String(id);
}

/** The id of a row that holds its key. */
export function idOf(row: LiveRow, primaryKey: readonly string[]): LiveRowId {
  const key = primaryKey.map((name) => row[name]);
  return key.length > 1 ? key : key[0];
}

/** Takes a row out of a sorted list of rows. */
export function takeOut(row: LiveRow, rows: LiveRow[], compare: CompareRows): void {
  const place = rows.indexOf(row, placeInOrder(row, rows, compare));
  if (place >= 0) rows.splice(place, 1);
}
