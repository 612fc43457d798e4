import { quoteIdentifier } from "../../../sql/fragment.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import type { Clock } from "../../../runtime/runtime.ts";
import type { Driver } from "../../../db/driver.ts";

/** The first number of the advisory locks of all stores. Locks of keys have the next number. */
const locks = 72_371_210;

/** The expiry of records is indexed in steps of this time, in milliseconds. */
export const sweepStepMs = 300_000;

/** SQL: a string that changes when the server starts again, or another server takes its place. */
const serverName = "extract(epoch FROM pg_postmaster_start_time())::text";

const serverTime = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

export function storeNames(schema: string) {
  const [table, procedure] = ["_service_kv", "_service_kv_commit"].map((name) =>
    `${quoteIdentifier(schema)}."${name}"`
  );
  return { table: `${table}`, procedure: `${procedure}` };
}

export interface ServerClock {
  readonly name: string;
  /** A lower bound of the server's time minus this process's `elapsedMs`, in milliseconds. */
  readonly aheadMs: number;
}

export async function openStore(
  driver: Driver,
  schema: string,
  clock: Clock,
): Promise<ServerClock> {
  const { table, procedure } = storeNames(schema);
  const text = `SELECT ${serverName}, ${serverTime}, current_setting('transaction_isolation'),
    to_regclass($2) IS NOT NULL AND EXISTS (SELECT FROM pg_proc
      WHERE proname = '_service_kv_commit' AND pronamespace = to_regnamespace($1)),
    (SELECT bool_and(has_table_privilege(to_regclass($2), one))
      FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS one) AND
      (SELECT bool_and(has_function_privilege(oid, 'EXECUTE')) FROM pg_proc
        WHERE proname = '_service_kv_commit' AND pronamespace = to_regnamespace($1))`;
  const { rows: [row = []] } = await driver.query({ text, values: [`"${schema}"`, table] });
  const [name = "", time, isolation, isComplete, isAllowed] = row.map(String);
  const server = { name, aheadMs: Number(time) - clock.elapsedMs() };
  // At any other isolation level, a commit misses what was committed while it waited for its locks.
  if (isolation !== "read committed") {
    throw new Error(
      `its default_transaction_isolation is "${isolation}": set it for the role, ` +
        "ALTER ROLE … SET default_transaction_isolation = 'read committed'",
    );
  }
  if (isComplete !== "t") await setUpStore(driver, schema);
  else if (isAllowed !== "t") {
    const grants = `GRANT SELECT, INSERT, UPDATE, DELETE ON ${table}, ` +
      `and EXECUTE ON PROCEDURE ${procedure}`;
    throw new Error(`the role lacks a right to the store: ${grants}`);
  }
  return server;
}

async function setUpStore(driver: Driver, schema: string): Promise<void> {
  const { rows } = await driver.query({
    text: "SELECT to_regnamespace($1)",
    values: [`"${schema}"`],
  });
  const first = rows[0]?.[0] === null ? [`CREATE SCHEMA IF NOT EXISTS "${schema}"`] : [];
  try {
    await driver.transaction(async (connection) => {
      await connection.query({ text: `SELECT pg_advisory_xact_lock(${locks}, 1)`, values: [] });
      for (const text of [...first, ...storeSchema(schema)]) {
        await connection.query({ text, values: [] });
      }
    });
  } catch (cause) {
    if (!(cause instanceof DatabaseError) || cause.kind !== "forbidden") throw cause;
    throw new Error(
      `the role may not create tables in the schema "${schema}": open the store once as the ` +
        "owner of the schema, and grant this role the rights to the table _service_kv",
      { cause },
    );
  }
}

/**
 * Returns the statements that create a store. The indexed `sweep_at` is the expiry in coarse steps:
 * an index of `expires_at` would get a dead entry with every update.
 *
 * The locks of a commit also cover keys without a record, and are sorted against deadlocks. NULL
 * for `locks` excludes all other commits. Each statement has a new snapshot, taken after the locks.
 *
 * `done` remains NULL, and nothing is done, if the deadline `until_` has passed, or was computed by
 * the clock of another server than `server_`.
 *
 * A cached plan must not scan the table, which can grow much before its statistics change.
 */
function storeSchema(schema: string): readonly string[] {
  const { table, procedure } = storeNames(schema);
  return [
    `CREATE TABLE IF NOT EXISTS ${table} (key bytea PRIMARY KEY, version bytea NOT NULL,
      expires_at bigint, sweep_at integer, value bytea NOT NULL
    ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02,
      autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0,
      toast.autovacuum_vacuum_scale_factor = 0.02)`,
    `CREATE INDEX IF NOT EXISTS "_service_kv_sweep" ON ${table} (sweep_at)
      WHERE sweep_at IS NOT NULL`,
    `CREATE OR REPLACE PROCEDURE ${procedure}(
  locks integer[], checks bytea[], versions bytea[], keys bytea[], vals bytea[], expiries bigint[],
  gone bytea[], version_ bytea, now_ bigint, server_ text, until_ bigint, INOUT done boolean
) LANGUAGE plpgsql SET enable_seqscan = off AS $body$
DECLARE one integer;
BEGIN
  IF locks IS NULL THEN PERFORM pg_advisory_xact_lock(${locks}, 0);
  ELSE
    PERFORM pg_advisory_xact_lock_shared(${locks}, 0);
    FOREACH one IN ARRAY locks LOOP PERFORM pg_advisory_xact_lock(${locks + 1}, one); END LOOP;
  END IF;
  IF server_ <> ${serverName} OR until_ < ${serverTime} THEN RETURN; END IF;
  done := NOT EXISTS (
    SELECT FROM unnest(checks, versions) AS c(key, version)
    WHERE (SELECT k.version FROM ${table} k WHERE k.key = c.key AND k.version <> ALL (gone)
      AND (k.expires_at IS NULL OR k.expires_at > now_)) IS DISTINCT FROM c.version);
  IF NOT done THEN RETURN; END IF;
  IF array_position(vals, NULL) IS NOT NULL THEN
    DELETE FROM ${table} WHERE key = ANY (ARRAY(
      SELECT m.key FROM unnest(keys, vals) AS m(key, value) WHERE m.value IS NULL));
  END IF;
  INSERT INTO ${table} AS k (key, version, expires_at, sweep_at, value)
    SELECT m.key, version_, m.at, m.at / ${sweepStepMs} + 1, m.value
    FROM unnest(keys, vals, expiries) AS m(key, value, at) WHERE m.value IS NOT NULL
  ON CONFLICT (key) DO UPDATE SET version = excluded.version, value = excluded.value,
    expires_at = excluded.expires_at, sweep_at = excluded.sweep_at;
END $body$`,
  ];
}
