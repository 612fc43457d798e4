import type { ChangeLog } from "../../db/changes/change_log.ts";
import { coversPosition, type Position } from "../../db/changes/log_position.ts";
import { DatabaseError } from "../../db/database_error.ts";
import { bytesOfRow } from "../../db/row_bytes.ts";
import { type Key, keyId, keyOf } from "../../plan/key.ts";
import type { OrderKey } from "../../plan/plan.ts";
import type { Clock } from "../../runtime/runtime.ts";
import type { Row, TableInfo } from "../../schema/table_info.ts";
import type { SqlValue } from "../../sql/fragment.ts";
import { eventRowId, eventText, toBytes } from "../dispatch/server_sent_events.ts";
import type { SubscriberGroup } from "../dispatch/subscriber_group.ts";
import type { LiveLimits } from "../live_limits.ts";
import type { LiveQuery } from "../live_view.ts";
import type { Semaphore } from "../../runtime/queues/semaphore.ts";

export interface SnapshotPage {
  /** The bytes of an `existing` event, which all streams that request the page share. */
  readonly bytes: Uint8Array;
  readonly position: Position;
  readonly next: SnapshotStart | null;
  /** The row ids; empty if the group does not track which rows its clients hold. */
  readonly keyIds: readonly string[];
}

export interface SnapshotStart {
  readonly key: Key;
  readonly stored: readonly SqlValue[];
  /** The maximum number of rows in the next page. After large rows, the number is smaller. */
  readonly maxRows: number;
}

export interface SnapshotRequest {
  readonly start: SnapshotStart | null;
  /** The page must be read at or after this log position; null if any recent page is sufficient. */
  readonly minPosition: Position | null;
  readonly identity: string;
}

export interface SnapshotReaderOptions {
  readonly log: ChangeLog;
  readonly clock: Clock;
  readonly limits: LiveLimits;
  readonly semaphore: Semaphore;
}

/** Reads the first rows of streams in pages, which equal queries share for two seconds. */
export class SnapshotReader {
  readonly #options: SnapshotReaderOptions;
  readonly #recent = new Map<
    string,
    { readonly at: number; readonly page: Promise<SnapshotPage> }
  >();

  /** The row limit of each table's first page. Pages of large rows lower the limit. */
  readonly #firstRows = new WeakMap<TableInfo, number>();

  constructor(options: SnapshotReaderOptions) {
    this.#options = options;
  }

  async read(
    group: SubscriberGroup,
    { start, minPosition, identity }: SnapshotRequest,
  ): Promise<SnapshotPage> {
    this.forgetOldPages();
    const id = `${group.key}${JSON.stringify(start?.stored.map(String) ?? null)}`;
    const recent = this.#recent.get(id);
    if (recent !== undefined) {
      const page = await recent.page;
      if (minPosition === null || coversPosition(page.position, minPosition)) return page;
    }
    const page = this.#options.semaphore.run(() => this.#readPage(group, start, identity));
    // The Map must be in order of age, but `set` alone would keep the old place of the id.
    this.#recent.delete(id);
    if (this.#recent.size < maxRemembered) {
      this.#recent.set(id, { at: this.#options.clock.elapsedMs(), page });
      // A failed read must not be shared.
      page.catch(() => this.#recent.delete(id));
    }
    return await page;
  }

  forgetOldPages(): void {
    const oldest = this.#options.clock.elapsedMs() - sharedForMs;
    for (const [id, { at }] of this.#recent) {
      if (at > oldest) return;
      this.#recent.delete(id);
    }
  }

  /** Drops all pages, because the rights of the database user have changed. */
  forgetPages(): void {
    this.#recent.clear();
  }

  async #readPage(
    { query, heldRows: held }: SubscriberGroup,
    start: SnapshotStart | null,
    identity: string,
  ): Promise<SnapshotPage> {
    const { table, reader, view } = query;
    const { cells, maxRows, position } = await this.#readCells(query, start, identity);
    const fitting = cells.slice(0, countFitting(cells, this.#options.limits.maxEventBytes));
    const rows = reader.toRows(fitting, table.columns);
    const items = rows.length === 0 ? [] : await view.present(rows, identity);
    // With many related rows, the view can present only the first rows. The next page has the rest.
    const isLast = cells.length < maxRows && items.length === cells.length;
    const end = items.length - 1;
    const last = isLast ? undefined : rows[end];
    const next = last === undefined ? null : {
      ...pageStart(last, cells[end] ?? [], query.table),
      maxRows: fitting.length < cells.length ? fitting.length : nextMaxRows(maxRows, this.#options),
    };
    const shown = rows.slice(0, items.length);
    const ids = showsKey(items, table)
      ? null
      : shown.map((row) => eventRowId(keyOf(row, table), query));
    return {
      bytes: toBytes(snapshotPageText(items, ids, next !== null)),
      position,
      next,
      keyIds: held === null ? [] : shown.map((row) => keyId(keyOf(row, table), table)),
    };
  }

  async #readCells(
    { table, filter, reader }: LiveQuery,
    start: SnapshotStart | null,
    identity: string,
  ) {
    const { log, limits } = this.#options;
    const firstRows = this.#firstRows.get(table) ?? limits.maxRowsPerPage;
    for (let maxRows = start?.maxRows ?? firstRows;; maxRows = Math.ceil(maxRows / 8)) {
      const statement = reader.compile({
        kind: "read",
        table,
        columns: table.columns,
        where: filter,
        order: table.primaryKey.map((column): OrderKey => ({ column, descending: false })),
        after: start?.stored ?? null,
        limit: maxRows,
      });
      try {
        const { rows: cells, position } = await log.readAt(statement, {
          identity,
          signal: unaborted,
          maxBytes: maxRows === 1 ? limits.maxRowBytes : 2 * limits.maxEventBytes,
          timeoutMs: limits.queryTimeoutMs,
        });
        // The next stream may find smaller rows, so it tries a higher row limit.
        if (start === null) this.#firstRows.set(table, nextMaxRows(maxRows, this.#options));
        return { cells, maxRows, position };
      } catch (error) {
        const isTooLarge = error instanceof DatabaseError && error.kind === "too-large";
        if (!isTooLarge || maxRows === 1) throw error;
      }
    }
  }
}

/** The read is never aborted, because other streams may wait for the same page. */
const unaborted = new AbortController().signal;

function countFitting(cells: readonly (readonly SqlValue[])[], maxBytes: number): number {
  let bytes = 0;
  for (const [index, row] of cells.entries()) {
    bytes += bytesOfRow(row);
    if (bytes > maxBytes && index > 0) return index;
  }
  return cells.length;
}

/** Small rows can follow large rows, so the next page can have twice as many. */
function nextMaxRows(maxRows: number, { limits }: SnapshotReaderOptions): number {
  return Math.min(2 * maxRows, limits.maxRowsPerPage);
}

/** Returns the event of a page. `ids` is null if the rows contain their keys. */
export function snapshotPageText(
  items: readonly Row[],
  ids: readonly unknown[] | null,
  hasMore: boolean,
): string {
  return eventText("existing", ids === null ? { items, hasMore } : { items, ids, hasMore });
}

/** Returns true if rows contain their key. Otherwise the client needs ids to match later events. */
function showsKey([item]: readonly Row[], { primaryKey }: TableInfo): boolean {
  return item === undefined || primaryKey.every(({ name }) => Object.hasOwn(item, name));
}

const sharedForMs = 2_000;
const maxRemembered = 64;

function pageStart(
  row: Row,
  cells: readonly SqlValue[],
  table: SubscriberGroup["query"]["table"],
): Omit<SnapshotStart, "maxRows"> {
  const stored = table.primaryKey.map((column) => cells[table.columns.indexOf(column)] ?? null);
  return { key: keyOf(row, table), stored };
}
