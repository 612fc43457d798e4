import { kindProperties } from "../../schema/kinds/kind_properties.ts";
import { type Key, keyId, keyOf } from "../../plan/key.ts";
import type { ColumnInfo, Row, TableInfo } from "../../schema/table_info.ts";
import type { SqlValue } from "../../sql/fragment.ts";
import type { Driver, ReadLimits } from "../driver.ts";
import { namedColumns, selectNamed, textOrNull } from "../named_columns.ts";
import type { RowReader } from "../rows.ts";
import type { Change } from "./change_log.ts";
import { changeKind, imageDecoder } from "./logged_change.ts";
import { engineOf } from "../engine/engine.ts";
import type { RowHistorySql } from "../engine/changes_engine.ts";

export interface RowHistoryRequest {
  readonly table: TableInfo;
  readonly key: Key;
  /** The columns that are never recorded. */
  readonly exclude: ReadonlySet<ColumnInfo>;
  /** Limits the history to changes with a smaller number. Null starts at the newest change. */
  readonly before: number | null;
  readonly limit: number;
}

/** Changes of one row, the newest first. */
export interface RowHistory {
  readonly changes: readonly PastChange[];
  /** The value of `before` with which older changes are read, or null at the start of the log. */
  readonly next: number | null;
}

/** A change of a row that is still in the log, or a `truncate` or `touch` of its whole table. */
export interface PastChange extends Pick<Change, "seq" | "kind" | "before" | "after"> {
  /** The time of the change, in milliseconds since 1970. */
  readonly at: number;
}

/**
 * Reads the history of one row backwards from the change log. The log has no index for rows, so
 * each call searches at most 20,000 changes. Rejects if the search exceeds `limits`.
 */
export async function readRowHistory(
  request: RowHistoryRequest,
  { driver, reader }: { readonly driver: Driver; readonly reader: RowReader },
  limits: ReadLimits,
): Promise<RowHistory> {
  const { table, key, exclude, limit, before: end } = request;
  const connection = driver.reads(limits);
  const { history } = engineOf(driver).changes;
  const bind = createBinder(driver);
  const below = end === null ? "" : `WHERE seq < ${bind.place(end)}`;
  const window = `"_service_changes" ${below} ORDER BY seq DESC LIMIT ${windowSize}`;
  const [size] = await selectNamed(
    connection,
    { first: "min(seq)", count: "count(*)" },
    `FROM (SELECT seq FROM ${window}) AS w`,
    ...bind.values,
  );
  const isTable = history.isTable(table, bind.place);
  const isRow = rowMatch(history, table, key, bind.place);
  const { at, before, after } = history;
  const columns = namedColumns({ seq: "seq", op: "op", at, before, after });
  const { rows } = await connection.query({
    text: `SELECT ${columns.selectList} FROM (SELECT * FROM ${window}) AS w
      WHERE ${isTable} AND (op NOT IN ('insert', 'update', 'delete') OR ${isRow})
      ORDER BY seq DESC LIMIT ${limit}`,
    values: bind.values,
  });
  const decode = imageDecoder(reader, exclude);
  const rowOf = (image: SqlValue): Row | null => {
    const text = textOrNull(image);
    return text === null ? null : decode(text, table);
  };
  const id = keyId(key, table);
  const isThis = (row: Row | null) => row !== null && keyId(keyOf(row, table), table) === id;
  const changes = rows.map(columns.decode).map((row): PastChange => ({
    seq: Number(row.seq),
    at: Number(row.at),
    kind: changeKind(String(row.op)),
    before: rowOf(row.before),
    after: rowOf(row.after),
  })).filter(({ before, after }) =>
    before === null && after === null || isThis(before) || isThis(after)
  );
  const lastSeq = Number(columns.decode(rows.at(-1) ?? []).seq);
  const isWindowFull = Number(size?.count) === windowSize;
  const next = rows.length === limit ? lastSeq : isWindowFull ? Number(size?.first) : null;
  return { changes, next };
}

const windowSize = 20_000;

function createBinder({ dialect }: Driver) {
  const values: SqlValue[] = [];
  const place = (value: SqlValue) => {
    values.push(value);
    return dialect.placeholder(values.length);
  };
  return { values, place };
}

type Place = (value: SqlValue) => string;

/**
 * Returns an SQL condition that is true if an image can belong to the row. The condition has a
 * placeholder for each value, in the order of the text. It ignores key columns whose values can be
 * spelled in several ways, so the caller must compare the decoded values.
 */
function rowMatch(
  history: RowHistorySql,
  { primaryKey }: TableInfo,
  key: Key,
  place: Place,
): string {
  const images = ["before", "after"].map((image) => {
    const terms = primaryKey.map((column, index) =>
      kindProperties[column.kind].isPlainInImages
        ? history.mayHave(column, String(key[index]), image, place)
        : "true"
    );
    return `(${terms.join(" AND ")})`;
  });
  return `(${images.join(" OR ")})`;
}
