import type { EventStream } from "../../support/event_stream.ts";

/** What a client of a stream of rows, or of one group, holds. */
export interface Fold {
  readonly stream: EventStream;
  /** The titles of the rows by their keys. */
  readonly rows: ReadonlyMap<number, string>;
  /** The last answer of a live aggregate; null before one came. */
  readonly count: () => number | null;
  /** The reasons of its invalidations. */
  readonly invalidations: readonly string[];
  /** Whether the snapshot is whole. */
  readonly isSynced: () => boolean;
}

/** Applies the events of a stream as they arrive, as the documents describe it. */
export function fold(stream: EventStream): Fold {
  const rows = new Map<number, string>();
  const invalidations: string[] = [];
  let count: number | null = null;
  let isSynced = false;

  async function follow(): Promise<void> {
    for (let event = await stream.next(); event !== null; event = await stream.next()) {
      const { type, data } = event;
      if (type === "existing") {
        for (const { id, title } of data.items) rows.set(id, title);
        isSynced = !data.hasMore;
      } else if (type === "removed") rows.delete(data.id);
      else if (type === "aggregate") count = data.groups[0].count;
      else if (type === "invalidate") {
        rows.clear();
        invalidations.push(data.reason);
        isSynced = false;
      } else rows.set(data.item.id, data.item.title);
    }
  }

  // It ends with the stream, which the test closes.
  follow().catch(() => {});
  return { stream, rows, count: () => count, invalidations, isSynced: () => isSynced };
}
