import type { LiveMessage, LiveRow, LiveRowId, LiveSeed, RowDescription } from "./live_messages.ts";
import { changedList, compareBy, type CompareRows } from "./row_order.ts";

/** The sorted rows of a live list at one log position, without unconfirmed writes. */
export class RowSet {
  readonly #orderBy: readonly string[];
  #changes = new Map<string, LiveRow | null>();
  /** True if the changes so far are all rows of the list, and will replace the current rows. */
  #isSnapshot = false;
  readonly rows = new Map<string, LiveRow>();
  /** The sorted rows. Each commit creates a new list, and no list is modified. */
  items: readonly LiveRow[] = [];
  compare: CompareRows = () => 0;
  /** Null until a stream has sent the description. */
  description: RowDescription | null = null;
  /** The log position of the rows, or null without rows. */
  token: string | null = null;
  /** The number of streams requested so far, including the current stream. */
  asked = 0;

  constructor(orderBy: readonly string[], seed?: LiveSeed) {
    this.#orderBy = orderBy;
    if (!seed) return;
    for (const type of ["opened", "existing", "token"] as const) {
      this.take({ ...seed, type, isResumed: false, asked: 0 });
    }
  }

  /** Takes a message from the stream. Changed rows become visible at the next token. */
  take(message: LiveMessage): void {
    if (message.type === "opened") {
      const { primaryKey, types, defaults, isResumed, asked } = message;
      this.description = { primaryKey, types, defaults };
      this.compare = compareBy([...this.#orderBy, ...primaryKey], types);
      this.asked = asked;
      this.#begin(!isResumed);
    } else if (message.type === "invalidate") {
      this.token = null;
      this.#begin(true);
    } else if (message.type === "existing") {
      // The rows of a seed belong to the program, which may freeze them, so rows are copied.
      message.items.forEach((row, index) => this.#change(withoutMark(row), message.ids?.[index]));
    } else if (message.type === "token") {
      if (this.#isSnapshot || this.#changes.size > 0) this.#commit();
      // The token is set last, so that after an error the next stream sends the changes again.
      this.token = message.token;
    } else if ("id" in message) {
      this.#change("item" in message ? withoutMark(message.item) : null, message.id);
    }
  }

  /** Notes a change. A hidden member of the row stores each key field that `select` omits. */
  #change(row: LiveRow | null, given?: LiveRowId): void {
    const names = this.description?.primaryKey ?? [];
    const id = given ?? rowIdOf(row!, names);
    names.forEach((name, index) =>
      row && (name in row || Object.defineProperty(row, name, { value: [id].flat()[index] }))
    );
    this.#changes.set(rowIdText(id), row);
  }

  #begin(isSnapshot: boolean): void {
    this.#changes.clear();
    this.#isSnapshot = isSnapshot;
  }

  #commit(): void {
    const { rows } = this;
    const removed = new Set<unknown>(this.#isSnapshot ? this.items : []);
    const added: LiveRow[] = [];
    if (this.#isSnapshot) rows.clear();
    for (const [id, row] of this.#changes) {
      removed.add(rows.get(id));
      if (row) {
        rows.set(id, row);
        added.push(row);
      } else rows.delete(id);
    }
    this.items = changedList(this.items, removed, added, this.compare);
    this.#begin(false);
  }
}

/** Removes `_optimisticId`, the id of the write that caused the event. */
function withoutMark({ _optimisticId, ...row }: LiveRow): LiveRow {
  return row;
}

/** Returns a string that differs for each row of a table. */
export function rowIdText(id: LiveRowId): string {
  return Array.isArray(id) ? JSON.stringify(id.map(String)) : String(id);
}

export function rowIdOf(row: LiveRow, primaryKey: readonly string[]): LiveRowId {
  const key = primaryKey.map((name) => row[name]);
  return key.length > 1 ? key : key[0];
}
