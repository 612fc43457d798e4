import { bytesToHex } from "../../../protocol/byte_text.ts";
import type { Random } from "../../../runtime/runtime.ts";
import type { Statement } from "../../../sql/fragment.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import type { Connection, Driver, QueryResult } from "../../../db/driver.ts";

/**
 * The epoch of the Postgres change log, as a column of a select list. Its second half is the id of
 * the transaction that stored it, so a dump restored into the same database has another epoch.
 */
export const epochColumn =
  `(SELECT left(epoch, 8) || lpad(to_hex(xmin::text::bigint), 8, '0') FROM "_service_epoch") AS epoch`;

/**
 * Begins an epoch of the Postgres change log if it has none: because the log is empty, or because
 * the server has recovered from a crash or was promoted. Positions contain transaction ids, which
 * are unique only between two recoveries: the server reuses ids of aborted transactions. Without
 * `synchronous_commit`, or on another server, it can even reuse ids of transactions whose changes
 * were already read. The epoch's table is unlogged: a recovery empties it before anything is read
 * or written, and a standby cannot read it.
 */
export async function beginPostgresEpoch(connection: Connection, random: Random): Promise<void> {
  await connection.query({
    text: `INSERT INTO "_service_epoch" (epoch) VALUES ($1) ON CONFLICT DO NOTHING`,
    values: [bytesToHex(random.bytes(8))],
  });
}

/** Runs a query that selects {@link epochColumn} first. Begins an epoch if the log has none. */
export async function queryWithinEpoch(
  statement: Statement,
  driver: Driver,
  random: Random,
  connection: Connection = driver,
): Promise<QueryResult["rows"]> {
  const { rows } = await queryPrimary(statement, driver, connection);
  if (hasEpoch(rows)) return rows;
  await beginPostgresEpoch(driver, random);
  const { rows: again } = await queryPrimary(statement, driver, connection);
  if (hasEpoch(again)) return again;
  throw new DatabaseError("unavailable", new Error("The server has recovered twice in a moment"));
}

function hasEpoch([row]: QueryResult["rows"]): boolean {
  return typeof row?.[0] === "string";
}

/** Runs a query. Rejects on a standby server, whose snapshots do not list running transactions. */
async function queryPrimary(
  statement: Statement,
  driver: Driver,
  connection: Connection,
): Promise<QueryResult> {
  try {
    return await connection.query(statement);
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.kind !== "other") throw error;
    const { rows } = await driver.query({ text: "SELECT pg_is_in_recovery()", values: [] });
    throw rows[0]?.[0] === "t" ? new DatabaseError("unavailable", error) : error;
  }
}
