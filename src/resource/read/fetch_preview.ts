import type { Connection } from "../../db/driver.ts";
import type { FetchedRows, RowReader } from "../../db/rows.ts";
import type { ReadPlan } from "../../plan/plan.ts";
import { chain, type MaybePromise } from "../../runtime/maybe_promise.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { SqlValue } from "../../sql/fragment.ts";
import type { CutColumns } from "./preview.ts";

/** Rows with truncated long values. `stored` has whole values of the row before the next page. */
export interface PreviewRows extends FetchedRows {
  readonly cut: CutColumns;
}

type Stored = readonly SqlValue[];

/** Reads the rows of a preview, in which the SELECT truncates long values. */
export function fetchPreview(
  connection: Connection,
  plan: ReadPlan,
  reader: RowReader,
  check: (stored: readonly Stored[]) => void,
): MaybePromise<PreviewRows> {
  return chain(connection.query(reader.compile(plan)), ({ rows: selected }) => {
    check(selected);
    const read = selected.map((cells) => cutRow(cells, plan, reader));
    return {
      rows: read.map(({ row }) => row),
      stored: selected.map((cells) => withWhole(cells, plan)),
      cut: read.map(({ cut }) => cut),
    };
  });
}

function cutRow(selected: Stored, { columns, preview }: ReadPlan, reader: RowReader) {
  const cells = selected.slice(0, columns.length);
  const texts: Record<string, SqlValue> = {};
  const cut: ColumnInfo[] = [];
  columns.forEach((column, index) => {
    const cell = cells[index] ?? null;
    if (cell === null || preview?.cut.has(column) !== true) return;
    const beginning = reader.dialect.preview.cut(cell, column, preview.length);
    if (beginning === null) return;
    cut.push(column);
    const isDocument = column.kind === "json" && typeof beginning === "string";
    // A truncated JSON document is no valid JSON. The row gets it as a string below.
    cells[index] = isDocument ? null : beginning;
    if (isDocument) texts[column.name] = beginning;
  });
  const [row = {}] = reader.toRows([cells], columns);
  return { row: cut.length === 0 ? row : { ...row, ...texts }, cut };
}

/**
 * Replaces truncated values by the whole values, which `whole` adds after the row's columns. Only
 * the row after which the next page starts has whole values.
 */
function withWhole(selected: Stored, { columns, preview }: ReadPlan): Stored {
  const { whole } = preview ?? { whole: [] };
  if (whole.length === 0) return selected;
  const cells = selected.slice(0, columns.length);
  whole.forEach((column, index) => {
    const value = selected[columns.length + index] ?? null;
    if (value !== null) cells[columns.indexOf(column)] = value;
  });
  return cells;
}
