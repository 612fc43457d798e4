import type { Row } from "../../schema/table_info.ts";
import { eventRowId, eventText } from "./server_sent_events.ts";
import type { LiveQuery } from "../live_view.ts";
import { chain, type MaybePromise } from "../../runtime/maybe_promise.ts";
import { type RowChange, rowChangeKey, type Transition } from "../match/row_change.ts";

/** Renders each transition of a batch once for a view, which groups with other filters share. */
export class EventRenderer {
  readonly #interest: Pick<LiveQuery, "table" | "view">;
  readonly #seq: number | null;
  readonly #rows = new Set<Row>();
  readonly #shown = new Map<Row, Row>();
  /** The error of each row that cannot be shown. It ends only the streams with that row. */
  readonly #errors = new Map<Row, unknown>();
  /** True if too many related rows had to be read, so that some rows are not presented. */
  isIncomplete = false;
  readonly #texts: Readonly<Record<Transition["kind"], Map<RowChange, string>>> = {
    added: new Map(),
    changed: new Map(),
    removed: new Map(),
  };

  /** Renders rows of the query's table. If `seq` is not null, all events have this number. */
  constructor(query: Pick<LiveQuery, "table" | "view">, seq: number | null) {
    this.#interest = query;
    this.#seq = seq;
  }

  add({ kind, rowChange: { after } }: Transition): void {
    if (kind !== "removed" && after !== null) this.#rows.add(after.row);
  }

  /** Converts all added rows to shown rows. The reads count against the limits of `identity`. */
  prepare(identity: string): MaybePromise<void> {
    const rows = [...this.#rows];
    if (rows.length === 0) return;
    let presented: MaybePromise<readonly Row[]>;
    try {
      presented = this.#interest.view.present(rows, identity);
    } catch {
      return this.#prepareEach(rows, identity);
    }
    return chain(presented, (shown) => {
      this.isIncomplete = shown.length < rows.length;
      rows.forEach((row, index) => this.#shown.set(row, shown[index] ?? {}));
    });
  }

  /** Converts each row separately after an error, unless the view reads related rows. */
  #prepareEach(rows: readonly Row[], identity: string): MaybePromise<void> {
    const waiting = rows.map(async (row) => {
      try {
        const [shown = {}] = await this.#interest.view.present([row], identity);
        this.#shown.set(row, shown);
      } catch (error) {
        this.#errors.set(row, error);
      }
    });
    return Promise.all(waiting).then(() => {});
  }

  /** Returns the text of an event. {@link prepare} must have converted the row. */
  text({ kind, rowChange }: Transition): string {
    const texts = this.#texts[kind];
    const known = texts.get(rowChange);
    if (known !== undefined) return known;
    const text = eventText(kind, this.#dataOf(kind, rowChange));
    texts.set(rowChange, text);
    return text;
  }

  #dataOf(kind: Transition["kind"], rowChange: RowChange): Readonly<Record<string, unknown>> {
    const { after, optimisticId } = rowChange;
    const seq = this.#seq ?? rowChange.seq;
    const id = eventRowId(rowChangeKey(rowChange, this.#interest.table), this.#interest);
    const named = optimisticId === null ? null : { _optimisticId: optimisticId };
    if (kind === "removed") return { seq, id, ...named };
    if (after !== null && this.#errors.has(after.row)) throw this.#errors.get(after.row);
    const item = after === null ? {} : this.#shown.get(after.row) ?? {};
    return { seq, id, item: named === null ? item : { ...item, ...named } };
  }
}
