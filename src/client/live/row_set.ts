import type { LiveMessage, LiveRow, LiveRowId, RowDescription } from "./live_messages.ts";
import { compareBy, type CompareRows, replaceRow } from "./row_order.ts";

/**
 * The sorted rows of a live list at one position of the change log, as the service has sent them.
 */
export class RowSet {
  readonly #orderBy: readonly string[];
  #changes = new Map<string, LiveRow | null>();
  /** True if the changes are a complete snapshot of the rows. */
  #isSnapshot = false;
  /** The rows, by the string forms of their ids. */
  readonly rows = new Map<string, LiveRow>();
  /** The sorted rows: a new list after each commit, which is never modified. */
  items: readonly LiveRow[] = [];
  compare: CompareRows = () => 0;
  /** The description of the rows, or null until the first stream has sent it. */
  description: RowDescription | null = null;
  /** The position of the change log that the rows reflect, or null if there are no rows. */
  token: string | null = null;
  /** Number of streams that had been requested, including the current one. */
  asked = 0;

  /** Starts without rows. */
  constructor(orderBy: readonly string[]) {
    this.#orderBy = orderBy;
  }

  /** Applies a message of a stream. The rows show it after the next token. */
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
      // The token is set after its rows. After an error, a stream would not send these rows again.
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

  /** Applies a few changes to one copy of the sorted rows; after many changes, sorts all rows. */
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

/**
 * Removes `_optimisticId`, which identifies the write of an event and is not a field of the row.
 */
function withoutMark({ _optimisticId, ...row }: LiveRow): LiveRow {
  return row;
}

/** Returns a unique string for each id of a table. Values of composite keys become strings. */
export function idText(id: LiveRowId): string {
  return Array.isArray(id) ? JSON.stringify(id.map(String)) : String(id);
}

/** Returns the id of a row that contains its key. */
export function idOf(row: LiveRow, primaryKey: readonly string[]): LiveRowId {
  const key = primaryKey.map((name) => row[name]);
  return key.length > 1 ? key : key[0];
}
