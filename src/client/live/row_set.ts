import type { LiveMessage, LiveRow, LiveRowId, RowDescription } from "./live_messages.ts";
import { compareBy, type CompareRows, replaceRow } from "./row_order.ts";

/** The rows of a live list at a position of the log, as the service has sent them, in their order. */
export class RowSet {
  readonly #orderBy: readonly string[];
  #changes = new Map<string, LiveRow | null>();
  /** True if the changes are all rows there are. */
  #isSnapshot = false;
  /** By the strings of their ids. */
  readonly rows = new Map<string, LiveRow>();
  /** A new list after each commit, never changed. */
  items: readonly LiveRow[] = [];
  compare: CompareRows = () => 0;
  /** Null before the first stream has said it. */
  description: RowDescription | null = null;
  /** The position up to which the rows are; null for a beginning. */
  token: string | null = null;
  /** How many streams were asked for when the present one was. */
  asked = 0;

  /** Begins without rows. */
  constructor(orderBy: readonly string[]) {
    this.#orderBy = orderBy;
  }

  /** Takes what a stream says; it shows at the next token. */
  take(message: LiveMessage): void {
    if (message.type === "opened") {
      const { primaryKey, types, isResumed, asked } = message;
      this.description = { primaryKey, types };
      this.compare = compareBy([...this.#orderBy, ...primaryKey], types);
      this.asked = asked;
      this.#begin(!isResumed);
    } else if (message.type === "invalidate") {
      this.token = null;
      this.#begin(true);
    } else if (message.type === "existing") {
      const key = this.description?.primaryKey ?? [];
      message.items.forEach((row, index) =>
        this.#changes.set(idText(message.ids?.[index] ?? idOf(row, key)), row)
      );
    } else if (message.type === "token") {
      if (this.#isSnapshot || this.#changes.size > 0) this.#commit();
      // Not before its rows: a stream that is opened after a fault would not send them again.
      this.token = message.token;
    } else if ("id" in message) {
      const row = "item" in message ? withoutMark(message.item) : null;
      this.#changes.set(idText(message.id), row);
    }
  }

  #begin(isSnapshot: boolean): void {
    this.#changes.clear();
    this.#isSnapshot = isSnapshot;
  }

  /** Each change moves one row of a copy that is made once; of many, everything is sorted again. */
  #commit(): void {
    const { rows, compare } = this;
    const items = [...this.items];
    const isSorting = this.#isSnapshot || this.#changes.size > 100 + items.length / 16;
    if (this.#isSnapshot) rows.clear();
    for (const [id, row] of this.#changes) {
      if (!isSorting) replaceRow(items, compare, rows.get(id), row);
      if (row === null) rows.delete(id);
      else rows.set(id, row);
    }
    this.items = isSorting ? [...rows.values()].sort(compare) : items;
    this.#begin(false);
  }
}

/** The mark says whose write an event confirms, and is no field of the row. */
function withoutMark({ _optimisticId, ...row }: LiveRow): LiveRow {
  return row;
}

/** A string for each id of the rows of one table; those of a composite key are compared as strings. */
export function idText(id: LiveRowId): string {
  return Array.isArray(id) ? JSON.stringify(id.map(String)) : String(id);
}

/** The id of a row that holds its key. */
export function idOf(row: LiveRow, primaryKey: readonly string[]): LiveRowId {
  const key = primaryKey.map((name) => row[name]);
  return key.length > 1 ? key : key[0];
}
