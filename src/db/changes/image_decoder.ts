import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { DecodeImage } from "./logged_change.ts";
import type { RowReader } from "../rows.ts";
import { keepStoredForms } from "../../filter/match/row_image.ts";
import type { ChangesEngine } from "../engine/changes_engine.ts";
import { engineOf } from "../engine/engine_of.ts";

/**
 * Creates the decoder of the row images in the change log: it gives rows as a read of the table
 * gives them. Columns that are never recorded are absent; a column that the image does not have is
 * null, see {@link completeImages}.
 */
export function imageDecoder(
  reader: RowReader,
  exclude: ReadonlySet<ColumnInfo>,
): DecodeImage {
  const format = engineOf(reader).changes.images;
  const columnsOf = recordedColumns(exclude);

  return (image, table) => {
    const columns = columnsOf(table);
    const members = format.parse(image);
    const cells = columns.map((column) => {
      const raw = members.get(column.dbName) ?? inAnyCase(members, column.dbName);
      return raw === undefined ? null : format.decodeCell(raw, column);
    });
    const [row = {}] = reader.toRows([cells], columns);
    keepStoredForms(row, cells, columns, reader.dialect);
    return row;
  };
}

/**
 * Says whether an image has every column that is recorded of its table. One that has not is of the
 * table as it was before it was altered, or as it is since: it is no row that may be shown.
 */
export function completeImages(
  { images }: ChangesEngine,
  exclude: ReadonlySet<ColumnInfo>,
): (image: string, table: TableInfo) => boolean {
  const columnsOf = recordedColumns(exclude);
  return (image, table) => {
    // To parse every image would cost as much as to decode it, which most are not.
    const missing = columnsOf(table).filter(({ dbName }) => !image.includes(`"${dbName}":`));
    if (missing.length === 0) return true;
    const members = images.parse(image);
    return missing.every(({ dbName }) =>
      members.has(dbName) || inAnyCase(members, dbName) !== undefined
    );
  };
}

function recordedColumns(
  exclude: ReadonlySet<ColumnInfo>,
): (table: TableInfo) => readonly ColumnInfo[] {
  const recorded = new WeakMap<TableInfo, readonly ColumnInfo[]>();
  return (table) => {
    const columns = recorded.get(table) ?? table.columns.filter((column) => !exclude.has(column));
    recorded.set(table, columns);
    return columns;
  };
}

/** SQLite ignores the case of names, so that a declaration may differ from the image in it. */
function inAnyCase(members: ReadonlyMap<string, string>, name: string): string | undefined {
  const lower = name.toLowerCase();
  for (const [other, raw] of members) if (other.toLowerCase() === lower) return raw;
  return undefined;
}
