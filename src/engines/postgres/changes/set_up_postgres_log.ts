import { bytesToHex } from "../../../protocol/byte_text.ts";
import type { Random } from "../../../runtime/runtime.ts";
import type { ColumnInfo, TableInfo } from "../../../schema/table_info.ts";
import { quoteIdentifier, sqlName, type SqlValue, type Statement } from "../../../sql/fragment.ts";
import {
  isTextInImagesSql,
  logTableNameSql,
  postgresLogStatements,
  postgresLogTriggers,
  postgresTriggerName,
  postgresTruncateTriggerName,
} from "../sql/change_log_schema.ts";
import { postgresHistoryStatements, postgresHistoryTrigger } from "../sql/history_schema.ts";
import { updateVersionTriggers } from "../../../db/changes/version_triggers.ts";
import type { ResolvedChangesOptions } from "../../../db/changes/changes_options.ts";
import type { Connection, Driver, QueryResult } from "../../../db/driver.ts";
import { cell, selectNamed } from "../../../db/named_columns.ts";
import { DatabaseError } from "../../../db/database_error.ts";

export interface PostgresLogTable {
  readonly table: TableInfo;
  /** The name of the table in the log: as in SQL, with its schema. */
  readonly name: string;
  readonly isWatched: boolean;
  /** The columns that row images contain as text. See {@link isTextInImagesSql}. */
  readonly texts: ReadonlySet<string>;
}

export function setUpPostgresLog(
  driver: Driver,
  tables: readonly TableInfo[],
  changes: Pick<ResolvedChangesOptions, "mode" | "schema" | "exclude" | "history">,
  random: Random,
): Promise<readonly PostgresLogTable[]> {
  return driver.transaction((connection) =>
    setUpPostgresLogWithin(connection, tables, changes, random)
  );
}

export async function setUpPostgresLogWithin(
  connection: Connection,
  tables: readonly TableInfo[],
  changes: Pick<ResolvedChangesOptions, "mode" | "schema" | "exclude" | "history">,
  random: Random,
): Promise<readonly PostgresLogTable[]> {
  // Without this lock, if two processes start together, both create the log, and one fails.
  await run(connection, `SELECT pg_advisory_xact_lock(7237120946)`);
  const { functionName, isNew, schema } = await createLog(connection, changes.schema, random);
  const described: PostgresLogTable[] = [];
  for (const table of tables) {
    const found = await describe(table, connection);
    const hidden = table.columns.filter((column) => changes.exclude.has(column));
    const isWatched = changes.mode === "triggers" || found.isWatched;
    if (changes.mode === "triggers") {
      const isFresh = await installTriggers(found, hidden, functionName, connection);
      if (isFresh && !isNew) await recordGap(found, connection);
    }
    described.push({ ...found, isWatched });
  }
  if (changes.history !== undefined) {
    await setUpHistory(described, { history: changes.history, schema }, connection);
  }
  return described;
}

/** Creates the triggers that record versions, and drops the triggers of tables without history. */
async function setUpHistory(
  tables: readonly PostgresLogTable[],
  { history, schema }: {
    readonly history: ReadonlyMap<TableInfo, number>;
    readonly schema: string;
  },
  connection: Connection,
): Promise<void> {
  const { recordName, create } = postgresHistoryStatements(schema);
  const [found] = await selectNamed(
    connection,
    {
      isCreated: cell.flag(
        "to_regprocedure($1) IS NOT NULL AND to_regclass('_service_history') IS NOT NULL",
      ),
      triggers: cell.list(`(SELECT json_agg(tgname) FROM pg_trigger
        WHERE tgrelid = to_regclass('_service_changes') AND NOT tgisinternal)`),
    },
    "",
    `${recordName}()`,
  );
  if (history.size > 0 && found?.isCreated !== true) {
    for (const text of create) await run(connection, text);
  }
  await updateVersionTriggers(connection, {
    installed: found?.triggers ?? [],
    tables: tables.map((one) => ({
      name: one.name,
      text: history.has(one.table) ? postgresHistoryTrigger(one, { schema, recordName }) : null,
    })),
    drop: (name) => `DROP TRIGGER ${name} ON "_service_changes"`,
  });
}

/** Records that a table can have unrecorded changes, so that the table's streams start over. */
export async function recordGap(
  { name }: Pick<PostgresLogTable, "name">,
  connection: Connection,
): Promise<void> {
  await run(connection, `INSERT INTO "_service_changes" ("table", op) VALUES ($1, 'touch')`, name);
}

async function createLog(
  connection: Connection,
  wanted: string | null,
  random: Random,
): Promise<
  { readonly functionName: string; readonly isNew: boolean; readonly schema: string }
> {
  const [found] = await selectNamed(
    connection,
    {
      schema: cell.text(`coalesce((SELECT n.nspname FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.oid = to_regclass('_service_changes')), $1, current_schema())`),
      hasTables: cell.flag("to_regclass('_service_changes') IS NOT NULL"),
      // Statements do not name the schema of the log's tables, so the search path must contain it.
      isFound: cell.flag("$1 IS NULL OR $1 = ANY (current_schemas(false))"),
    },
    "",
    wanted,
  );
  if (found === undefined || !found.isFound) {
    throw new Error(
      `Cannot record changes in the schema "${wanted}": it does not exist, the role may not use it, ` +
        "or it is not in the search_path",
    );
  }
  const { schema } = found;
  const isNew = !found.hasTables;
  const { tables, epochTable, functions, functionName } = postgresLogStatements(schema);
  const name = `${quoteIdentifier(schema)}.${quoteIdentifier(functionName)}`;
  const [parts] = await selectNamed(
    connection,
    {
      hasFunction: cell.flag("to_regprocedure($1) IS NOT NULL"),
      hasEpoch: cell.flag("to_regclass($2) IS NOT NULL"),
    },
    "",
    `${name}()`,
    `${quoteIdentifier(schema)}."_service_epoch"`,
  );
  if (isNew) { for (const text of tables) await run(connection, text); }
  if (parts?.hasEpoch !== true) await run(connection, epochTable);
  if (parts?.hasFunction !== true) { for (const text of functions) await run(connection, text); }
  await resolveEpoch(connection, random, isNew);
  return { functionName: name, isNew, schema };
}

/** Sets up a new log. Empties a log that a copy or a restore has brought from another database. */
async function resolveEpoch(connection: Connection, random: Random, isNew: boolean): Promise<void> {
  const identity = await identityOf(connection);
  const [known] = await selectNamed(
    connection,
    {
      identity: "value",
      hasSecret: `EXISTS (SELECT FROM "_service_meta" WHERE name = 'secret')`,
    },
    `FROM "_service_meta" WHERE name = 'cluster'`,
  );
  if (isNew || known?.identity !== identity || known.hasSecret !== "t") {
    await run(connection, `DELETE FROM "_service_changes"`);
    await run(connection, `DELETE FROM "_service_epoch"`);
    await run(
      connection,
      `INSERT INTO "_service_meta" (name, value) VALUES ('secret', $1), ('cluster', $2),
         ('floor', '0')
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      bytesToHex(random.bytes(16)),
      identity,
    );
  }
  await beginPostgresEpoch(connection, random);
}

async function identityOf(connection: Connection): Promise<string> {
  const [role] = await selectNamed(
    connection,
    {
      mayRead: "coalesce(bool_and(has_function_privilege(oid, 'execute')), false) AND count(*) = 2",
    },
    `FROM pg_proc WHERE oid IN (to_regproc('pg_catalog.pg_control_system'),
       to_regproc('pg_catalog.pg_control_checkpoint'))`,
  );
  const isKnown = role?.mayRead === "t";
  const [identity] = await selectNamed(connection, {
    cluster: isKnown ? "(SELECT system_identifier FROM pg_control_system())" : "'unknown'",
    timeline: isKnown ? "(SELECT timeline_id FROM pg_control_checkpoint())" : "'unknown'",
    database: "(SELECT oid FROM pg_database WHERE datname = current_database())",
  });
  return `${identity?.cluster}.${identity?.timeline}.${identity?.database}`;
}

async function describe(table: TableInfo, connection: Connection): Promise<PostgresLogTable> {
  const [found] = await selectNamed(
    connection,
    {
      kind: "relkind",
      name: cell.text(logTableNameSql("$1")),
      isWatched: cell.flag(`EXISTS (SELECT FROM pg_trigger t
        WHERE t.tgrelid = c.oid AND t.tgname = $2 AND t.tgenabled <> 'D')`),
    },
    "FROM pg_class c WHERE oid = to_regclass($1)",
    sqlName(table),
    postgresTriggerName,
  );
  if (found === undefined) {
    throw new Error(`Cannot record the changes of "${table.label}": there is no such table`);
  }
  if (found.kind !== "r" && found.kind !== "p") {
    throw new Error(`Cannot record the changes of "${table.label}": it is not a table`);
  }
  const texts = await selectNamed(
    connection,
    { name: cell.text("a.attname") },
    `FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
     WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
       AND ${isTextInImagesSql}`,
    found.name,
  );
  const { name, isWatched } = found;
  return { table, name, isWatched, texts: new Set(texts.map(({ name }) => name)) };
}

async function installTriggers(
  { name, texts }: PostgresLogTable,
  hiddenColumns: readonly ColumnInfo[],
  functionName: string,
  connection: Connection,
): Promise<boolean> {
  const hidden = hiddenColumns.map(({ dbName }) => dbName);
  const found = await selectNamed(
    connection,
    { args: "encode(tgargs, 'hex')" },
    `FROM pg_trigger
     WHERE tgrelid = to_regclass($1) AND tgfoid = to_regproc($2) AND tgenabled = 'A'
       AND tgname IN ($3, $4)`,
    name,
    functionName,
    postgresTriggerName,
    postgresTruncateTriggerName,
  );
  // The trigger creates images faster if its only argument is the table's name.
  const isPlain = hidden.length === 0 && texts.size === 0;
  const parts = isPlain ? [name] : [name, "by column", ...hidden];
  const wanted = bytesToHex(new TextEncoder().encode(parts.map((part) => `${part}\0`).join("")));
  if (found.length === 2 && found.every(({ args }) => args === wanted)) return false;
  for (const text of postgresLogTriggers(name, parts, functionName)) await run(connection, text);
  return true;
}

async function run(
  connection: Connection,
  text: string,
  ...values: readonly SqlValue[]
): Promise<void> {
  await connection.query({ text, values });
}

/** The log's epoch. It ends with the id of the inserting transaction, which a restore changes. */
export const epochColumn =
  `(SELECT left(epoch, 8) || lpad(to_hex(xmin::text::bigint), 8, '0') FROM "_service_epoch") AS epoch`;

/**
 * Begins an epoch of the Postgres change log if the log has none: after its creation, a crash of
 * the server, or the promotion of a standby. Positions contain transaction ids, which are
 * unique only between two recoveries: a recovered server reuses ids of aborted transactions. A
 * server without `synchronous_commit`, or a promoted standby, can even reuse ids of transactions
 * whose changes were already read. The epoch's table is unlogged: a recovery empties it before
 * anything is read or written, and a standby cannot read it.
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
  throw new DatabaseError(
    "unavailable",
    new Error("The server has recovered twice in a short time"),
  );
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
