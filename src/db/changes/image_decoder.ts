import type { ColumnInfo, Row, TableInfo } from "../../schema/table_info.ts";
import type { RowReader } from "../rows.ts";
import { attachStoredForms } from "../../filter/match/row_image.ts";
import type { ChangesEngine } from "../engine/changes_engine.ts";
import { engineOf } from "../engine/engine_of.ts";

export type DecodeImage = (image: string, table: TableInfo) => Row;

/**
 * Creates the decoder of row images in the change log. The decoded rows are like rows that are read
 * from the table. Columns that are never recorded are absent. A column that the image lacks is
 * null; see {@link createCompletenessTest}.
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
    attachStoredForms(row, cells, columns, reader.dialect);
    return row;
  };
}

/** Tests if an image has every recorded column. Other images predate or follow an alteration. */
export function createCompletenessTest(
  { images }: ChangesEngine,
  exclude: ReadonlySet<ColumnInfo>,
): (image: string, table: TableInfo) => boolean {
  const columnsOf = recordedColumns(exclude);
  return (image, table) => {
    // Searches the image's text for the names. Parsing is slow, and most images are never parsed.
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

function inAnyCase(members: ReadonlyMap<string, string>, name: string): string | undefined {
  const lower = name.toLowerCase();
  for (const [other, raw] of members) if (other.toLowerCase() === lower) return raw;
  return undefined;
}
