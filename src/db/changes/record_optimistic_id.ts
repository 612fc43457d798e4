import { type Key, keyId, keyOf } from "../../plan/key.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { SqlValue, Statement } from "../../sql/fragment.ts";
import { logName, sqlName } from "../../sql/postgres/change_log_schema.ts";
import type { Connection } from "../driver.ts";
import { imageDecoder } from "./image_decoder.ts";
import type { RowReader } from "../rows.ts";

/**
 * The optimistic id that a client gave to the row that it created, and the row's change to record
 * it with.
 */
export interface CreatedRowId {
  readonly table: TableInfo;
  readonly key: Key;
  /** The value of `Service-Optimistic-Id`. */
  readonly optimisticId: string;
}

/**
 * Records the optimistic id, the client's name of a new row, with the row's change in the log. For
 * the transaction that has just inserted the row; does nothing where the table is not recorded.
 */
export async function recordOptimisticId(
  connection: Connection,
  { table, key, optimisticId }: CreatedRowId,
  reader: RowReader,
): Promise<void> {
  const isPostgres = reader.dialect.engine === "postgres";
  const find = isPostgres ? postgresInserts(table) : sqliteInserts(table);
  const { rows } = await connection.query(find);
  const decode = imageDecoder(reader, new Set());
  const wanted = keyId(key, table);
  const found = rows.find(([, image]) =>
    keyId(keyOf(decode(String(image), table), table), table) === wanted
  );
  if (found === undefined) return;
  const values: readonly SqlValue[] = [optimisticId, found[0] ?? null];
  const [name, seq] = isPostgres ? ["$1", "$2"] : ["?", "?"];
  await connection.query({
    text: `UPDATE "_service_changes" SET optimistic_id = ${name} WHERE seq = ${seq}`,
    values,
  });
}

/** There is one writer at a time, so that the rows that it has just inserted are the last. */
function sqliteInserts(table: TableInfo): Statement {
  return {
    text: `SELECT seq, after FROM "_service_changes"
      WHERE seq > (SELECT seq FROM sqlite_sequence WHERE name = '_service_changes') - 1000
        AND op = 'insert' AND "table" = ? COLLATE NOCASE ORDER BY seq DESC`,
    values: [table.name],
  };
}

function postgresInserts(table: TableInfo): Statement {
  return {
    text: `SELECT seq, after FROM "_service_changes"
      WHERE xid = pg_current_xact_id() AND op = 'insert' AND "table" = ${logName("$1")}
      ORDER BY seq DESC`,
    values: [sqlName(table)],
  };
}
