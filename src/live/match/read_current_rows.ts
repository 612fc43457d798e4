import { compileFiltersOnRows } from "../../compile/filters_on_rows.ts";
import { filterParts, isTrue } from "../../db/changes/evaluate_filters.ts";
import type { ChangeLog } from "../../db/changes/change_log.ts";
import type { Position } from "../../db/changes/log_position.ts";
import type { RowReader } from "../../db/rows.ts";
import type { Filter } from "../../filter/filter.ts";
import { keepStoredForms } from "../../filter/match/row_image.ts";
import { chunksOf, type Key, keyId, keyOf } from "../../plan/key.ts";
import type { Row, TableInfo } from "../../schema/table_info.ts";
import { evaluationLimits } from "./evaluation_limits.ts";

/** The keys of the current rows to read, and the filters to evaluate for them. */
export interface CurrentRowsQuery {
  readonly table: TableInfo;
  readonly reader: RowReader;
  readonly keys: readonly Key[];
  readonly filters: readonly Filter[];
  /** The identity under which the read is queued. */
  readonly identity: string;
}

/** The current rows that one statement has read, and the filters that they match. */
export interface CurrentRows {
  readonly at: Position;
  /** The index of the first filter that the statement evaluated. */
  readonly from: number;
  /** The ids of the requested keys. */
  readonly ids: readonly string[];
  /** The existing rows by id, and for each filter true if the row matches. */
  readonly rows: ReadonlyMap<string, { readonly row: Row; readonly passes: readonly boolean[] }>;
}

/** Reads the current rows of keys and evaluates filters for them, if possible by one statement. */
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
        evaluationLimits(identity, Infinity),
      );
      // If there is no row, the position may be older than the read, which is not allowed here.
      const at = cells.length === 0 ? await log.end() : position;
      const rows = reader.toRows(cells, columns).map((row, index) => {
        const read = cells[index] ?? [];
        keepStoredForms(row, read, columns, dialect);
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
