import type { ColumnInfo, Row, TableInfo } from "../../schema/table_info.ts";
import type { SqlValue } from "../../sql/fragment.ts";
import type { Driver } from "../driver.ts";
import { engineOf } from "../engine/engine.ts";
import { textOrNull } from "../named_columns.ts";
import { createRowReader, type RowReader } from "../rows.ts";
import type { Change } from "./change_log.ts";
import { attachStoredForms } from "../../filter/match/row_matches.ts";
import type { ChangesEngine } from "../engine/changes_engine.ts";

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

interface LogCells {
  readonly seq: SqlValue;
  readonly op: SqlValue;
  readonly before: SqlValue;
  readonly after: SqlValue;
  readonly optimisticId: SqlValue;
}

/**
 * Decodes a row of the change log. `tables` are the declarations of its table in this process:
 * none, one, or two if it is declared twice. The result contains a change for each declaration.
 */
export type DecodeChanges = (
  cells: LogCells,
  place: Pick<Change, "transaction" | "mark">,
  tables: readonly TableInfo[],
) => readonly Change[];

export function changeDecoder(driver: Driver, exclude: ReadonlySet<ColumnInfo>): DecodeChanges {
  const decode = imageDecoder(createRowReader(driver.dialect, () => {}), exclude);
  const isWhole = createCompletenessTest(engineOf(driver).changes, exclude);
  return ({ seq, op, ...cells }, place, tables) => {
    const images = { before: textOrNull(cells.before), after: textOrNull(cells.after) };
    return tables.map((table) => {
      // An incomplete image must not be shown. Instead, a `touch` makes the streams start over.
      const areWhole = Object.values(images).every((one) => one === null || isWhole(one, table));
      const kind = areWhole ? changeKind(String(op)) : "touch";
      const optimisticId = textOrNull(cells.optimisticId);
      const logged = { ...place, seq: Number(seq), table, kind, optimisticId };
      return lazyChange(logged, areWhole ? images : { before: null, after: null }, decode);
    });
  };
}

/** Returns a change as logged, which decodes each of its images once, at its first use. */
function lazyChange(
  logged: Omit<Change, "before" | "after" | "sizeBytes">,
  images: { readonly before: string | null; readonly after: string | null },
  decode: DecodeImage,
): Change {
  let { before, after }: { before: string | Row | null; after: string | Row | null } = images;
  return {
    ...logged,
    sizeBytes: (images.before?.length ?? 0) + (images.after?.length ?? 0),
    get before() {
      return before = typeof before === "string" ? decode(before, logged.table) : before;
    },
    get after() {
      return after = typeof after === "string" ? decode(after, logged.table) : after;
    },
  };
}

/** Returns the kind of a change by its name in the log, or `touch` for an unknown kind. */
export function changeKind(op: string): Change["kind"] {
  return op === "insert" || op === "update" || op === "delete" || op === "truncate" ? op : "touch";
}
