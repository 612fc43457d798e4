import type { LiveRow, RowDescription, RowId, RowsEvent } from "./live_messages.ts";
import { compareBy, type CompareRows, placeOf } from "./row_order.ts";

/** The rows of a live list as the service has sent them, in their order. */
export interface RowSet {
  /** A new list after each commit, never changed. */
  readonly items: readonly LiveRow[];
  readonly compare: CompareRows;
  /** Null before the first stream has said it. */
  readonly description: RowDescription | null;
  /** By the texts of their ids. */
  readonly rows: ReadonlyMap<string, LiveRow>;
  /** A stream begins: with all rows, or after what is here. */
  begin(description: RowDescription, isResumed: boolean): void;
  /** Takes an event, which shows at the next commit. */
  take(event: RowsEvent): void;
  /** Shows what was taken. */
  commit(): void;
}

/** A text for each id of the rows of one table. */
export function idText(id: RowId): string {
  return typeof id === "object" ? JSON.stringify(id) : String(id);
}

/** The id of a row that holds its key. */
export function idOf(row: LiveRow, primaryKey: readonly string[]): RowId {
  const key = primaryKey.map((name) => row[name]);
  return key.length > 1 ? key : key[0];
}

/** Takes a row out of a sorted list of rows. */
export function takeOut(row: LiveRow, rows: LiveRow[], compare: CompareRows): void {
  const place = rows.indexOf(row, placeOf(row, rows, compare));
  if (place >= 0) rows.splice(place, 1);
}

/** Begins without rows. */
export function createRowSet(orderBy: readonly string[]): RowSet {
  let rows = new Map<string, LiveRow>();
  let items: readonly LiveRow[] = [];
  let description: RowDescription | null = null;
  let compare: CompareRows = () => 0;
  /** The rows that will replace all others; null while there is no snapshot under way. */
  let next: Map<string, LiveRow> | null = null;
  let changes = new Map<string, LiveRow | null>();

  /** Each change moves one row of a copy that is made once; of many, everything is sorted again. */
  function applyChanges(): void {
    const isSorting = changes.size > 100 + items.length / 16;
    const list = [...items];
    for (const [id, row] of changes) {
      const before = rows.get(id);
      if (row === null) rows.delete(id);
      else rows.set(id, row);
      if (isSorting) continue;
      if (before !== undefined) takeOut(before, list, compare);
      if (row !== null) list.splice(placeOf(row, list, compare), 0, row);
    }
    items = isSorting ? [...rows.values()].sort(compare) : list;
  }

  return {
    get items() {
      return items;
    },
    get compare() {
      return compare;
    },
    get description() {
      return description;
    },
    get rows() {
      return rows;
    },
    begin(given, isResumed) {
      description = given;
      compare = compareBy([...orderBy, ...given.primaryKey], given.types);
      changes = new Map();
      next = isResumed ? null : new Map();
    },
    take(event) {
      if (event.type === "invalidate") {
        changes = new Map();
        next = new Map();
      } else if (event.type === "existing") {
        event.items.forEach((row, index) => {
          const id = event.ids?.[index] ?? idOf(row, description?.primaryKey ?? []);
          next?.set(idText(id), row);
        });
      } else {
        const id = idText(event.id);
        const row = event.type === "removed" ? null : event.item;
        if (next === null) changes.set(id, row);
        else if (row === null) next.delete(id);
        else next.set(id, row);
      }
    },
    commit() {
      if (next !== null) {
        rows = next;
        next = null;
        items = [...rows.values()].sort(compare);
      } else if (changes.size > 0) applyChanges();
      changes = new Map();
    },
  };
}
