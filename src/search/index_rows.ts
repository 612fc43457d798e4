import type { Connection } from "../db/driver.ts";
import type { Row } from "../schema/table_info.ts";
import type { Key } from "../plan/key.ts";
import type { IndexBackend, IndexChange, SearchVersions, WriteOptions } from "./search_adapter.ts";
import { readSearchedRows, type SearchIndex, toSearchedRow } from "./search_index.ts";

export interface IndexedTable {
  readonly index: SearchIndex;
  readonly backend: IndexBackend;
  readonly versions: SearchVersions;
}

/** Indexes committed rows, and removes documents of missing rows. The caller retries failures. */
export async function indexRows(
  { index, backend, versions }: IndexedTable,
  keys: readonly Key[],
  options: WriteOptions,
): Promise<void> {
  const { local } = backend;
  // Creates the version before reading the rows: the greatest version must have the latest rows.
  const version = versions.next();
  if (local === null) {
    const rows = await readSearchedRows(index, keys, index.driver);
    await backend.write(rows.map((row) => ({ ...row, version })), options);
    return;
  }
  await index.driver.transaction(async (connection) => {
    const rows = await readSearchedRows(index, keys, connection, { lock: true });
    await local.write(rows.map((row) => ({ ...row, version })), connection);
  });
}

export async function indexChangesInTransaction(
  { index, versions }: IndexedTable,
  keys: readonly Key[],
  connection: Connection,
  known: readonly Row[] | null,
): Promise<readonly IndexChange[]> {
  const version = versions.next();
  const rows = known === null
    ? await readSearchedRows(index, keys, connection)
    : known.map((row) => toSearchedRow(row, index));
  return rows.map((row) => ({ ...row, version }));
}
