import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { SqlValue } from "../../sql/fragment.ts";
import { jsonMembers } from "../../schema/exact_json.ts";
import { decodePostgresCell } from "../../sql/postgres/change_log_schema.ts";
import { decodeSqliteCell, parseSqliteImage } from "../../sql/sqlite/image_json.ts";
import type { Dialect } from "../../sql/dialect.ts";
import type { DecodeImage } from "./logged_change.ts";
import type { RowReader } from "../rows.ts";

/** What an engine writes into images. */
interface ImageFormat {
  /** The columns as they are written, by their names in the database. */
  members(image: string): ReadonlyMap<string, string>;
  /** What a driver would have read of the column. */
  cell(raw: string, column: ColumnInfo): SqlValue;
}

/**
 * Reads images as the same row would be read from its table. Columns that are never recorded are
 * absent; one that came into the table later than the image is null.
 */
export function imageDecoder(
  reader: RowReader,
  exclude: ReadonlySet<ColumnInfo>,
): DecodeImage {
  const format = formats[reader.dialect.engine];
  const recorded = new WeakMap<TableInfo, readonly ColumnInfo[]>();

  function columnsOf(table: TableInfo): readonly ColumnInfo[] {
    const columns = recorded.get(table) ?? table.columns.filter((column) => !exclude.has(column));
    recorded.set(table, columns);
    return columns;
  }

  return (image, table) => {
    const columns = columnsOf(table);
    const members = format.members(image);
    const cells = columns.map((column) => {
      const raw = members.get(column.dbName) ?? respelled(members, column.dbName);
      return raw === undefined ? null : format.cell(raw, column);
    });
    const [row = {}] = reader.toRows([cells], columns);
    return row;
  };
}

const formats: Readonly<Record<Dialect["engine"], ImageFormat>> = {
  sqlite: { members: parseSqliteImage, cell: decodeSqliteCell },
  postgres: { members: jsonMembers, cell: decodePostgresCell },
};

/** SQLite finds columns whatever the case of their names; a declaration may differ in it. */
function respelled(members: ReadonlyMap<string, string>, name: string): string | undefined {
  const lower = name.toLowerCase();
  for (const [other, raw] of members) if (other.toLowerCase() === lower) return raw;
  return undefined;
}
