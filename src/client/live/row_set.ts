import type { LiveListState } from "./live_list_state.ts";
import type { LiveMessage, LiveRow, LiveRowId, LiveSeed, RowDescription } from "./live_messages.ts";
import { compareBy, type CompareRows } from "./row_order.ts";

export class RowSet {
  readonly #orderBy: readonly string[];
  /** The changes since the last token, by row id; null for a removed row. */
  #changes = new Map<string, LiveRow | null>();
  /** The changes up to the last token: the latest changes in `rows` and `items`. */
  last: ReadonlyMap<string, LiveRow | null> = this.#changes;
  readonly rows = new Map<string, LiveRow>();
  /** The sorted rows. Each token creates a new list, and no list is modified. */
  items: readonly LiveRow[] = [];
  #compare: CompareRows = () => 0;
  /** Undefined until a stream has sent the description. */
  description: RowDescription | undefined;
  token: string | null = null;
  asked = 0;
  state: Pick<LiveListState, "status" | "error">;
  /** The maximum number of rows, which the service may have reduced. Undefined for all rows. */
  limit: number | undefined;

  constructor(orderBy: readonly string[], seed?: LiveSeed, limit?: number) {
    this.#orderBy = orderBy;
    if (seed) {
      for (const type of ["opened", "existing", "token"] as const) {
        this.take({ ...seed, type, description: seed, asked: 0 });
      }
    }
    this.limit = limit;
    // A seed does not change the status: the list is live only after a token from a stream.
    this.state = { status: "connecting", error: null };
  }

  /** Takes a message from the stream. Changed rows become visible at the next token. */
  take(message: LiveMessage): void {
    if (message.type === "opened") {
      const { description, asked } = message;
      this.description = description;
      this.#compare = compareBy([...this.#orderBy, ...description.primaryKey], description.types);
      this.asked = asked;
      this.#changes.clear();
    } else if (message.type === "invalidate") {
      this.token = null;
      this.#changes.clear();
    } else if (message.type === "existing") {
      // If no change precedes these rows, a snapshot begins, which replaces all rows of the list.
      if (!this.#changes.size) { for (const id of this.rows.keys()) this.#changes.set(id, null); }
      this.limit = message.limit;
      message.items.forEach((row, index) => this.#change(row, message.ids?.[index]));
    } else if (message.type === "token") {
      const changes = this.#changes;
      if (changes.size) this.items = this.insert(this.without(changes), changes.values());
      for (const [id, row] of changes) {
        if (row) this.rows.set(id, row);
        else this.rows.delete(id);
      }
      this.last = changes;
      this.#changes = new Map();
      // The token is set last, so that after an error the next stream sends the changes again.
      this.token = message.token;
      this.state = { status: "live", error: null };
    } else if (message.type === "status") {
      const { status, error } = message;
      // Before the first rows arrive, the status stays `connecting` even if the stream fails.
      this.state = {
        status: status === "stale" && !this.description ? "connecting" : status,
        error,
      };
    } else if ("id" in message) {
      this.#change("item" in message ? message.item : null, message.id);
    }
  }

  /** Records a change. Key fields that `select` omits become hidden properties of the row. */
  #change(item: LiveRow | null, given?: LiveRowId): void {
    // The `!` are safe: the description precedes all changes, and a removed row has an id.
    const { primaryKey } = this.description!;
    const id = given ?? rowIdOf(item!, primaryKey);
    // The rows of a seed belong to the program, which may freeze them, so rows are copied.
    const { _optimisticId, ...row } = item ?? {};
    primaryKey.forEach((name, index) =>
      name in row || Object.defineProperty(row, name, { value: [id].flat()[index] })
    );
    this.#changes.set(rowIdText(id), item && row);
  }

  /** Returns the sorted rows without the rows that `changes` replaces or removes. */
  without(changes: ReadonlyMap<string, LiveRow | null>): LiveRow[] {
    const old = new Set([...changes.keys()].map((id) => this.rows.get(id)));
    return this.items.filter((row) => !old.has(row));
  }

  /** Returns the sorted `items` with `rows` added, except null. May modify `items`. */
  insert(items: LiveRow[], rows: Iterable<LiveRow | null>): readonly LiveRow[] {
    const added = [...rows].filter((row) => !!row);
    if (added.length > 500) return [...items, ...added].sort(this.#compare);
    for (const row of added) {
      let low = 0;
      let high = items.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        // The `!` is safe: the index is within the bounds of the list.
        if (this.#compare(items[middle]!, row) > 0) high = middle;
        else low = middle + 1;
      }
      items.splice(low, 0, row);
    }
    return items;
  }
}

/** Returns a string that identifies a row within its table. */
export function rowIdText(id: LiveRowId): string {
  return JSON.stringify([id].flat().map(String));
}

export function rowIdOf(row: LiveRow, primaryKey: readonly string[]): readonly unknown[] {
  return primaryKey.map((name) => row[name]);
}
