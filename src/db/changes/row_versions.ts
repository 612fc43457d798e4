import { compileFilter } from "../../compile/where.ts";
import { type Key, keyFilter, keyId, keyOf } from "../../plan/key.ts";
import type { ColumnInfo, Row, TableInfo } from "../../schema/table_info.ts";
import { rawSql, sql, type SqlValue, tableName, toStatement } from "../../sql/fragment.ts";
import { decodeImage } from "./logged_change.ts";
import type { Connection, Driver } from "../driver.ts";
import { engineOf } from "../engine/engine.ts";
import { cell, namedColumns } from "../named_columns.ts";
import type { RowReader } from "../rows.ts";

/** A recorded state of a row. */
export interface RecordedVersion {
  readonly seq: number;
  /** How the state began. `known`: at an unknown time. `delete`: `row` is the deleted row. */
  readonly op: "insert" | "update" | "delete" | "known";
  /** The time of the write in milliseconds since 1970. Null if `op` is `known`. */
  readonly at: number | null;
  readonly user: string | null;
  readonly operation: string | null;
  readonly row: Row;
  /** The columns whose values were not recorded, such as columns that were added later. */
  readonly missing: ReadonlySet<ColumnInfo>;
}

const columns = namedColumns({
  seq: cell.number("h.seq"),
  op: cell.text("h.op"),
  at: {
    sql: "CASE WHEN h.op <> 'known' THEN h.at END",
    read: (at) => at === null ? null : Number(at),
  },
  user: cell.textOrNull("h.user_id"),
  operation: cell.textOrNull("h.operation"),
  image: cell.text("h.image"),
  found: cell.number("w.found"),
  total: cell.number("w.total"),
});

/**
 * Reads versions of an existing row with a `seq` before `end`, the newest first. `next` is the
 * `end` of the next read, or null if there are no more versions. `bytes` is the size of their
 * images.
 */
export async function readVersions(
  connection: Connection,
  { table, key, end, limit, maxBytes }: {
    readonly table: TableInfo;
    readonly key: Key;
    readonly end: number;
    readonly limit: number;
    /** The size of the images after which no further version is read, in bytes. */
    readonly maxBytes: number;
  },
  reader: RowReader,
): Promise<{
  readonly versions: readonly RecordedVersion[];
  readonly next: number | null;
  readonly bytes: number;
}> {
  const { dialect } = reader;
  const { versions } = engineOf(reader).changes;
  const where = compileFilter(keyFilter(key, table), dialect);
  const named = toStatement(
    sql`SELECT ${rawSql(versions.keyOf(table))} FROM ${tableName(table)} WHERE ${where} LIMIT 1`,
    dialect.placeholder,
  );
  const values = [...named.values];
  const place = (value: SqlValue) => dialect.placeholder(values.push(value));
  const newest = `SELECT seq, octet_length(image) AS bytes FROM "_service_history"
    WHERE "key" = (${named.text}) AND "table" = ${versions.tableName(table, place)}
      AND seq < ${place(end)} ORDER BY seq DESC LIMIT ${place(limit)}`;
  const text = `SELECT ${columns.selectList} FROM (
      SELECT seq, bytes, count(*) OVER () AS found, sum(bytes) OVER (ORDER BY seq DESC) AS total
      FROM (${newest}) AS n) AS w
    JOIN "_service_history" AS h ON h.seq = w.seq
    WHERE w.total - w.bytes < ${place(maxBytes)} ORDER BY w.seq DESC`;
  const rows = (await connection.query({ text, values })).rows.map(columns.decode);
  const [last] = rows.slice(-1);
  const isLast = last === undefined || last.found < limit && rows.length === last.found;
  const id = keyId(key, table);
  return {
    versions: rows.map(({ image, op, ...version }): RecordedVersion => ({
      ...version,
      ...decodeImage(image, table.columns, reader),
      // The cast is safe: the triggers write no other values.
      op: op as RecordedVersion["op"],
      // Different keys can have equal strings in the column `key`.
    })).filter(({ row }) => keyId(keyOf(row, table), table) === id),
    next: isLast ? null : last.seq,
    bytes: last?.total ?? 0,
  };
}

const maxPerPurge = 1_000;

export async function purgeVersions(
  driver: Driver,
  history: ReadonlyMap<TableInfo, number>,
  now: number,
): Promise<void> {
  const { versions } = engineOf(driver).changes;
  for (const [table, retentionMs] of history) {
    const values: SqlValue[] = [];
    const place = (value: SqlValue) => driver.dialect.placeholder(values.push(value));
    const text = `DELETE FROM "_service_history" WHERE seq IN (SELECT seq FROM "_service_history"
      WHERE "table" = ${versions.tableName(table, place)} AND at < ${place(now - retentionMs)}
      ORDER BY at LIMIT ${maxPerPurge})`;
    // Each round is a separate transaction, so that writers can run between two rounds.
    while ((await driver.query({ text, values })).changed === maxPerPurge);
  }
}
