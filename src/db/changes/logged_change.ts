import type { ColumnInfo, Row, TableInfo } from "../../schema/table_info.ts";
import type { SqlValue, Statement } from "../../sql/fragment.ts";
import type { Connection, Driver } from "../driver.ts";
import { type ChangesEngine, engineOf } from "../engine/engine.ts";
import { textOrNull } from "../named_columns.ts";
import { createRowReader, type RowReader } from "../rows.ts";
import type { Change } from "./change_log.ts";
import { attachStoredForms } from "../../filter/match/row_matches.ts";
import { chunksOf, keyId, keyOf } from "../../plan/key.ts";

type DecodeImage = (image: string, table: TableInfo) => Row;

/** Creates the decoder of row images. A recorded column that an image lacks becomes null. */
function imageDecoder(
  reader: RowReader,
  exclude: ReadonlySet<ColumnInfo>,
): DecodeImage {
  const columnsOf = recordedColumns(exclude);
  return (image, table) => decodeImage(image, columnsOf(table), reader).row;
}

/** Returns the row of an image, and the columns that the image lacks, whose values are null. */
export function decodeImage(image: string, columns: readonly ColumnInfo[], reader: RowReader) {
  const format = engineOf(reader).changes.images;
  const members = format.parse(image);
  const missing = new Set<ColumnInfo>();
  const cells = columns.map((column) => {
    const raw = members.get(column.dbName) ?? inAnyCase(members, column.dbName);
    if (raw !== undefined) return format.decodeCell(raw, column);
    missing.add(column);
    return null;
  });
  const [row = {}] = reader.toRows([cells], columns);
  attachStoredForms(row, cells, columns, reader.dialect);
  return { row, missing };
}

/** Returns a function that is false for an image without all columns that its table now records. */
function createCompletenessTest(
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

/** Decodes a row of the log. Returns several changes if several `tables` declare its table. */
export type DecodeChanges = (
  cells: {
    readonly seq: SqlValue;
    readonly op: SqlValue;
    readonly before: SqlValue;
    readonly after: SqlValue;
    readonly optimisticId: SqlValue;
  },
  place: Pick<Change, "transaction" | "mark">,
  tables: readonly TableInfo[],
) => readonly Change[];

export function changeDecoder(driver: Driver, exclude: ReadonlySet<ColumnInfo>): DecodeChanges {
  const decode = imageDecoder(createRowReader(driver.dialect, () => {}), exclude);
  const isWhole = createCompletenessTest(engineOf(driver).changes, exclude);
  return ({ seq, op, ...cells }, place, tables) => {
    const images = { before: textOrNull(cells.before), after: textOrNull(cells.after) };
    return tables.map((table) => {
      // Streams must not show an incomplete row. Instead, a `touch` makes them start over.
      const areWhole = Object.values(images).every((one) => one === null || isWhole(one, table));
      const kind = areWhole ? changeKind(String(op)) : "touch";
      const optimisticId = textOrNull(cells.optimisticId);
      const logged = { ...place, seq: Number(seq), table, kind, optimisticId };
      return lazyChange(logged, areWhole ? images : { before: null, after: null }, decode);
    });
  };
}

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

function changeKind(op: string): Change["kind"] {
  return op === "insert" || op === "update" || op === "delete" || op === "truncate" ? op : "touch";
}

/** The optimistic ids (ids that clients chose for new rows) of a transaction's rows, by row id. */
export type OptimisticIds = ReadonlyMap<string, string>;

/** The log position before a transaction writes. Null if the log records transaction ids. */
type LogMark = SqlValue;

export async function logPositionBefore(
  connection: Connection,
  reader: RowReader,
): Promise<LogMark> {
  const { mark } = engineOf(reader).changes;
  if (mark === null) return null;
  const { rows } = await connection.query({ text: mark, values: [] });
  return rows[0]?.[0] ?? 0;
}

/** Writes the ids to the changes after the log position `since`. Returns only the written ids. */
export async function recordOptimisticIds(
  connection: Connection,
  { table, ids, since }: {
    readonly table: TableInfo;
    readonly ids: OptimisticIds;
    readonly since: LogMark;
  },
  reader: RowReader,
): Promise<OptimisticIds> {
  if (ids.size === 0) return ids;
  const { rows } = await connection.query(
    engineOf(reader).changes.changesSince(table, since),
  );
  const decode = imageDecoder(reader, new Set());
  const recorded = new Map<string, string>();
  const marks = rows.flatMap(([seq = null, image]): readonly Mark[] => {
    const key = keyId(keyOf(decode(String(image), table), table), table);
    const id = ids.get(key);
    if (id === undefined) return [];
    recorded.set(key, id);
    return [{ seq, id }];
  });
  for (const some of chunksOf(marks, marksPerStatement)) {
    await connection.query(markStatement(some, reader));
  }
  return recorded;
}

interface Mark {
  readonly seq: SqlValue;
  readonly id: string;
}

const marksPerStatement = 500;

function markStatement(marks: readonly Mark[], { dialect }: RowReader): Statement {
  const pairs = marks.map((_mark, index) => {
    const [seq, id] = [dialect.placeholder(2 * index + 1), dialect.placeholder(2 * index + 2)];
    return `(CAST(${seq} AS bigint), CAST(${id} AS text))`;
  });
  return {
    // `column1` and `column2` are the names of VALUES columns on all engines.
    text: `UPDATE "_service_changes" SET optimistic_id = named.column2
      FROM (VALUES ${pairs.join(", ")}) AS named WHERE seq = named.column1`,
    values: marks.flatMap(({ seq, id }) => [seq, id]),
  };
}
