import type { ChangeLog } from "../../db/changes/change_log.ts";
import type { Position } from "../../db/changes/log_position.ts";
import type { RowReader } from "../../db/rows.ts";
import { attachStoredForms } from "../../filter/match/row_matches.ts";
import { chunksOf, type Key, keyId, keyOf } from "../../plan/key.ts";
import type { Row, TableInfo } from "../../schema/table_info.ts";
import { liveReadLimits } from "./matcher.ts";
import { compileFiltersOnRows } from "../../compile/where.ts";
import { filterParts, isTrue } from "../../db/changes/evaluate_filters.ts";
import type { Filter } from "../../filter/filter.ts";

export interface CurrentRowsQuery {
  readonly table: TableInfo;
  readonly reader: RowReader;
  readonly keys: readonly Key[];
  readonly filters: readonly Filter[];
  readonly identity: string;
}

export interface CurrentRows {
  readonly at: Position;
  /** The index, in the list of requested filters, of the first filter that this read evaluated. */
  readonly from: number;
  readonly ids: readonly string[];
  /** The existing rows by id. `passes` has one item for each filter: true if the row matches. */
  readonly rows: ReadonlyMap<string, { readonly row: Row; readonly passes: readonly boolean[] }>;
}

export async function readCurrentRows(
  log: ChangeLog,
  { table, reader, keys, filters, identity }: CurrentRowsQuery,
): Promise<readonly CurrentRows[]> {
  const { dialect } = reader;
  const { columns } = table;
  const found: CurrentRows[] = [];
  for (const part of filterParts(filters, dialect)) {
    for (const some of chunksOf(keys, maxKeys)) {
      const statement = compileFiltersOnRows(
        { table, columns, keys: some, filters: part.filters },
        dialect,
      );
      const { rows: cells, position } = await log.readAt(
        statement,
        liveReadLimits(identity, Infinity),
      );
      // Without rows, changes after `position` may be included, but none after the log's end.
      const at = cells.length === 0 ? await log.end() : position;
      const rows = reader.toRows(cells, columns).map((row, index) => {
        const read = cells[index] ?? [];
        attachStoredForms(row, read, columns, dialect);
        const truths = read.slice(columns.length);
        return [keyId(keyOf(row, table), table), { row, passes: truths.map(isTrue) }] as const;
      });
      const ids = some.map((key) => keyId(key, table));
      found.push({ at, from: part.from, ids, rows: new Map(rows) });
    }
  }
  return found;
}

const maxKeys = 500;
