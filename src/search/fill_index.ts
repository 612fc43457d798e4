import { rowPages } from "../db/row_pages.ts";
import { fetchCount } from "../db/rows.ts";
import { type Key, keyOf } from "../plan/key.ts";
import type { ReadPlan } from "../plan/plan.ts";
import { type IndexedTable, indexRows } from "./index_rows.ts";
import { readSearchedRows } from "./search_index.ts";

export interface FillOptions {
  /** Stops the work after the current page of rows when it is aborted. */
  readonly signal?: AbortSignal;
  /** Called after each page. Without it, the rows are not counted. */
  readonly onProgress?: (progress: FillProgress) => void;
}

export interface FillProgress {
  readonly done: number;
  readonly total: number;
}

/** Indexes all rows page by page. Concurrent writes index their own. Rejects when aborted. */
export async function fillIndex(
  table: IndexedTable,
  { signal, onProgress }: FillOptions = {},
): Promise<void> {
  const { index: { table: info, driver, reader, undeleted }, backend } = table;
  const total = onProgress === undefined
    ? 0
    : await fetchCount(driver, { kind: "count", table: info, where: undeleted }, reader);
  const plan: ReadPlan = {
    kind: "read",
    table: info,
    columns: info.primaryKey,
    where: undeleted,
    order: info.primaryKey.map((column) => ({ column, descending: false })),
    after: null,
    limit: null,
  };
  const pages = rowPages(() => driver, plan, reader);
  for (let done = 0;;) {
    signal?.throwIfAborted();
    const { rows, isLast } = await pages.next(rowsPerPage);
    if (rows.length > 0) {
      await indexRows(table, rows.map((row) => keyOf(row, info)), { isAwaited: false });
    }
    done += rows.length;
    onProgress?.({ done, total: Math.max(total, done) });
    if (isLast) break;
  }
  await backend.markFilled();
}

/** Removes the documents of rows that do not exist any more or are soft-deleted. */
export async function removeMissingDocuments(table: IndexedTable): Promise<void> {
  const { index, backend } = table;
  for (let after: Key | null = null;;) {
    const keys: readonly Key[] = await backend.keys(after, rowsPerPage);
    const last = keys.at(-1);
    if (last === undefined) return;
    const rows = await readSearchedRows(index, keys, index.driver);
    const gone = rows.filter(({ texts }) => texts === null).map(({ key }) => key);
    if (gone.length > 0) await indexRows(table, gone, { isAwaited: true });
    // The next page begins after a key that still exists, because no engine finds a removed key.
    after = keys.findLast((key) => !gone.includes(key)) ?? after;
  }
}

/** Number of rows in a page. Indexing so few rows does not noticeably delay other writes. */
const rowsPerPage = 256;
