import type { Connection } from "../../db/driver.ts";
import type { FetchedRows, RowReader } from "../../db/rows.ts";
import type { PreviewSettings, ReadPlan } from "../../plan/plan.ts";
import { chain, type MaybePromise } from "../../runtime/maybe_promise.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import type { SqlValue } from "../../sql/fragment.ts";
import { kindProperties } from "../../schema/kinds/kind_properties.ts";
import { invalidParameter } from "../../problem/problem.ts";
import type { Resource } from "../model/resource.ts";
import type { Query } from "../http/query_parameters.ts";
import type { View } from "../shape/output.ts";

type Stored = readonly SqlValue[];

export function fetchPreview(
  connection: Connection,
  plan: ReadPlan,
  reader: RowReader,
  check: (stored: readonly Stored[]) => void,
): MaybePromise<FetchedRows & { readonly cut: CutColumns }> {
  return chain(connection.query(reader.compile(plan)), ({ rows: selected }) => {
    check(selected);
    const read = selected.map((cells) => cutRow(cells, plan, reader));
    return {
      rows: read.map(({ row }) => row),
      stored: selected,
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
    // A truncated JSON document is no valid JSON: the row later receives its text as a string.
    cells[index] = isDocument ? null : beginning;
    if (isDocument) texts[column.name] = beginning;
  });
  const [row = {}] = reader.toRows([cells], columns);
  return { row: cut.length === 0 ? row : { ...row, ...texts }, cut };
}

export type CutColumns = readonly (readonly ColumnInfo[])[];

const maxLength = 1_000;

/**
 * Parses `preview`, the number of characters (or bytes of a binary value) to which values are
 * truncated. Throws a 400 unless the number is from 1 to 1,000. A truncated document is a string,
 * the beginning of its JSON. Keys, columns of relations and included rows are never truncated.
 */
export function parsePreview(query: Query): number | null {
  const text = query.get("preview");
  if (text === undefined) return null;
  const length = /^[0-9]{1,4}$/.test(text) ? Number(text) : 0;
  if (length >= 1 && length <= maxLength) return length;
  throw invalidParameter(
    `Cannot use this preview: it must be a whole number from 1 to ${maxLength}`,
  );
}

/** Returns the view of a preview, without computed fields, which would need whole rows. */
export function viewOfPreview(view: View): View {
  return { ...view, computed: { ...view.computed, fields: [] } };
}

export function planPreview(
  { columns, table }: ReadPlan,
  length: number,
  { relations }: Pick<Resource, "relations">,
): PreviewSettings {
  const foreign = new Set(table.foreignKeys.flatMap((key) => key.columns));
  const related = new Set([...relations.values()].flatMap(({ steps }) => steps[0].own));
  const isCut = (column: ColumnInfo) =>
    kindProperties[column.kind].isLong && !column.primaryKey && !foreign.has(column.dbName) &&
    column.references === null && !related.has(column);
  return { length, cut: new Set(columns.filter(isCut)) };
}

export function addCutFieldNames(
  rows: readonly Row[],
  cut: CutColumns,
  { visible }: View,
): readonly Row[] {
  const shown = new Set(visible);
  return rows.map((row, index) => {
    const names = (cut[index] ?? []).flatMap((column) => shown.has(column) ? column.name : []);
    return names.length === 0 ? row : { ...row, _cut: names };
  });
}
