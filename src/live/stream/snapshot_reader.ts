import type { ChangeLog } from "../../db/changes/change_log.ts";
import type { Position } from "../../db/changes/log_position.ts";
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
import type { LiveQuery } from "../live_query.ts";
import type { Semaphore } from "../../runtime/queues/semaphore.ts";

/** One page of rows that the snapshot reader has read, ready to be sent. */
export interface SnapshotPage {
  /** An `existing` event, shared by the streams that request the same page. */
  readonly bytes: Uint8Array;
  /** The page was read at this position. */
  readonly position: Position;
  /** Where the next page begins; null after the last one. */
  readonly next: SnapshotStart | null;
  /** The ids of its rows, where it is kept which rows a client holds. */
  readonly keyIds: readonly string[];
}

/** The row after which a page of a snapshot begins. */
export interface SnapshotStart {
  /** Its key as the process reads it. */
  readonly key: Key;
  /** Its key as it is stored. */
  readonly stored: readonly SqlValue[];
  /** The most rows of the next page: where rows are large, a page has few of them. */
  readonly maxRows: number;
}

/** Which page of a snapshot a stream requests. */
export interface SnapshotRequest {
  /** Null for the first page. */
  readonly start: SnapshotStart | null;
  /** The page must cover it; null if any page will do. */
  readonly minPosition: Position | null;
  /** The user or the address that reads. */
  readonly identity: string;
}

/** What the snapshot reader reads with. */
export interface SnapshotReaderOptions {
  readonly log: ChangeLog;
  readonly clock: Clock;
  readonly limits: LiveLimits;
  readonly semaphore: Semaphore;
}

/**
 * Reads the snapshots that streams begin with, page by page in the order of the keys, a few pages
 * at a time, so that a crowd of clients that reconnect at once does not take the database from
 * other requests. Streams that request the same page within two seconds share it.
 */
export class SnapshotReader {
  readonly #options: SnapshotReaderOptions;
  readonly #recent = new Map<
    string,
    { readonly at: number; readonly page: Promise<SnapshotPage> }
  >();

  /** How many rows fitted the first page of another stream, by table, where not all did. */
  readonly #firstRows = new WeakMap<TableInfo, number>();

  /** Begins without pages. */
  constructor(options: SnapshotReaderOptions) {
    this.#options = options;
  }

  /** A page of a group's rows that was read at `minPosition` or later. */
  async read(
    group: SubscriberGroup,
    { start, minPosition, identity }: SnapshotRequest,
  ): Promise<SnapshotPage> {
    this.forgetOldPages();
    const id = `${group.key}${JSON.stringify(start?.stored.map(String) ?? null)}`;
    const recent = this.#recent.get(id);
    if (recent !== undefined) {
      const page = await recent.page;
      if (minPosition === null || this.#options.log.includes(page.position, minPosition)) {
        return page;
      }
    }
    const page = this.#options.semaphore.run(() => this.#readPage(group, start, identity));
    // A key that is only set again keeps its place among older pages, which are dropped in order.
    this.#recent.delete(id);
    if (this.#recent.size < maxRemembered) {
      this.#recent.set(id, { at: this.#options.clock.elapsedMs(), page });
      // After a failure the next request reads again.
      page.catch(() => this.#recent.delete(id));
    }
    return await page;
  }

  /** Drops the pages that are too old to be shared. */
  forgetOldPages(): void {
    const oldest = this.#options.clock.elapsedMs() - sharedForMs;
    for (const [id, { at }] of this.#recent) {
      if (at > oldest) return;
      this.#recent.delete(id);
    }
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
    // Rows that were too many to be presented with the others begin the next page.
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

  /** The cells of the next rows: fewer where they are large, and at least one. */
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
        // Rows may have become smaller: the next stream asks for some more.
        if (start === null) this.#firstRows.set(table, nextMaxRows(maxRows, this.#options));
        return { cells, maxRows, position };
      } catch (error) {
        const isTooLarge = error instanceof DatabaseError && error.kind === "too-large";
        if (!isTooLarge || maxRows === 1) throw error;
      }
    }
  }
}

/** Other streams may wait for the same page. */
const unaborted = new AbortController().signal;

/** How many of the rows have so many bytes together; at least one. */
function countFitting(cells: readonly (readonly SqlValue[])[], maxBytes: number): number {
  let bytes = 0;
  for (const [index, row] of cells.entries()) {
    bytes += bytesOfRow(row);
    if (bytes > maxBytes && index > 0) return index;
  }
  return cells.length;
}

/** After pages of large rows there may be small ones again. */
function nextMaxRows(maxRows: number, { limits }: SnapshotReaderOptions): number {
  return Math.min(2 * maxRows, limits.maxRowsPerPage);
}

/**
 * The text of a snapshot's page; the last one says that there are no more. `ids` are the ids of the
 * items, where the items do not show their keys.
 */
export function snapshotPageText(
  items: readonly Row[],
  ids: readonly unknown[] | null,
  hasMore: boolean,
): string {
  return eventText("existing", ids === null ? { items, hasMore } : { items, ids, hasMore });
}

/** A select may omit the key: then the client needs ids to apply later events. */
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
