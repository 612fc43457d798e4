import { bytesToHex } from "../../../protocol/byte_text.ts";
import type { Random } from "../../../runtime/runtime.ts";
import type { TableInfo } from "../../../schema/table_info.ts";
import { quoteIdentifier } from "../../../sql/fragment.ts";
import { sqliteHistoryTables, sqliteHistoryTrigger } from "../sql/history_schema.ts";
import { updateVersionTriggers } from "../../../db/changes/version_triggers.ts";
import {
  sqliteLogTables,
  sqliteLogTriggers,
  sqliteMarkColumn,
  type SqliteTrigger,
  sqliteTriggerPrefix,
} from "../sql/change_log_schema.ts";
import type { ResolvedChangesOptions } from "../../../db/changes/changes_options.ts";
import { describeRecordedTable } from "../driver/describe_recorded_table.ts";
import type { Connection, Driver } from "../../../db/driver.ts";
import { selectNamed } from "../../../db/named_columns.ts";

/** Sets up the log. Returns the tables in which only the writes of this process are recorded. */
export function setUpSqliteLog(
  driver: Driver,
  tables: readonly TableInfo[],
  changes: Pick<ResolvedChangesOptions, "mode" | "exclude" | "history">,
  random: Random,
): Promise<readonly TableInfo[]> {
  return driver.transaction((connection) =>
    setUpSqliteLogWithin(connection, tables, changes, random)
  );
}

export async function setUpSqliteLogWithin(
  connection: Connection,
  tables: readonly TableInfo[],
  changes: Pick<ResolvedChangesOptions, "mode" | "exclude" | "history">,
  random: Random,
): Promise<readonly TableInfo[]> {
  const isNew = await createLog(connection, random);
  const untracked: TableInfo[] = [];
  for (const table of tables) {
    const installed = await installTriggers(table, changes, connection);
    if (installed.lifetime === "temporary") untracked.push(table);
    else if (installed.isFresh && !isNew) await recordGap(table, connection);
  }
  if (changes.history !== undefined) await setUpHistory(tables, changes, connection);
  return untracked;
}

/** Creates the triggers that record versions, and drops the triggers of tables without history. */
async function setUpHistory(
  tables: readonly TableInfo[],
  { history = new Map(), exclude }: Pick<ResolvedChangesOptions, "exclude" | "history">,
  connection: Connection,
): Promise<void> {
  const run = async (text: string) => void await connection.query({ text, values: [] });
  if (history.size > 0) { for (const text of sqliteHistoryTables) await run(text); }
  const installed = await triggersOf("_service_changes", "main", connection);
  const triggers = tables.map(async (table) => {
    const recorded = await describeRecordedTable(table, exclude, connection);
    const text = history.has(table) ? sqliteHistoryTrigger(recorded, table.primaryKey) : null;
    return { name: recorded.name.toLowerCase(), text };
  });
  await updateVersionTriggers(connection, {
    installed: installed.map(({ name }) => name),
    tables: await Promise.all(triggers),
    drop: (name) => `DROP TRIGGER main.${name}`,
  });
}

async function recordGap({ name }: TableInfo, connection: Connection): Promise<void> {
  await connection.query({
    text: `INSERT INTO "_service_changes" ("table", op) VALUES (?, 'touch')`,
    values: [name],
  });
}

async function createLog(connection: Connection, random: Random): Promise<boolean> {
  const existing = await selectNamed(
    connection,
    { name: "name" },
    `FROM sqlite_schema WHERE type = 'table' AND name = '_service_changes'`,
  );
  for (const text of sqliteLogTables) await connection.query({ text, values: [] });
  const secret = await selectNamed(
    connection,
    { value: "value" },
    `FROM "_service_meta" WHERE name = 'secret'`,
  );
  const isMarked = existing.length === 0 || await hasMarks(connection);
  if (existing.length > 0 && secret.length > 0 && isMarked) return false;
  // Logs of an earlier version have no column `mark`. SQLite can add it only to an empty table.
  if (!isMarked) {
    await connection.query({ text: `DELETE FROM "_service_changes"`, values: [] });
    const text = `ALTER TABLE "_service_changes" ADD COLUMN ${sqliteMarkColumn}`;
    await connection.query({ text, values: [] });
  }
  // The numbers of changes start again at 1. A new epoch makes the old log's resume tokens invalid.
  await connection.query({
    text: `INSERT INTO "_service_meta" (name, value)
      VALUES ('epoch', ?), ('secret', ?), ('floor', '0'), ('floor_mark', '0')
      ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    values: [newEpoch(random), bytesToHex(random.bytes(16))],
  });
  return true;
}

async function hasMarks(connection: Connection): Promise<boolean> {
  const from = `FROM pragma_table_info('_service_changes') WHERE name = 'mark'`;
  return (await selectNamed(connection, { name: "name" }, from)).length > 0;
}

export function newEpoch(random: Random): string {
  return bytesToHex(random.bytes(8));
}

async function installTriggers(
  table: TableInfo,
  { mode, exclude }: Pick<ResolvedChangesOptions, "mode" | "exclude">,
  connection: Connection,
) {
  const recorded = await describeRecordedTable(table, exclude, connection);
  const permanent = sqliteLogTriggers(recorded, "permanent");
  const schema = mode === "triggers" ? "main" : "temp";
  const wanted = mode === "triggers" ? permanent : sqliteLogTriggers(recorded, "temporary");
  const inFile = await triggersOf(recorded.name, "main", connection);
  if (isInstalled(permanent, inFile)) return { lifetime: "permanent", isFresh: false };
  await dropOurs(inFile, "main", connection);
  if (schema === "temp") {
    const temporary = await triggersOf(recorded.name, "temp", connection);
    if (isInstalled(wanted, temporary)) return { lifetime: "temporary", isFresh: false };
    await dropOurs(temporary, "temp", connection);
  }
  // Deletes copies of rows that triggers stored: the rows can have changed without triggers.
  await connection.query({
    text: `DELETE FROM "_service_replaced" WHERE "table" = ?`,
    values: [recorded.name],
  });
  for (const { text } of wanted) await connection.query({ text, values: [] });
  return { lifetime: schema === "temp" ? "temporary" : "permanent", isFresh: true };
}

interface FoundTrigger {
  readonly name: string;
  readonly isOurs: boolean;
}

async function triggersOf(
  table: string,
  schema: "main" | "temp",
  connection: Connection,
): Promise<readonly FoundTrigger[]> {
  const rows = await selectNamed(
    connection,
    { name: "name" },
    `FROM ${schema}.sqlite_schema
     WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE ORDER BY rowid`,
    table,
  );
  return rows.map(({ name }) => ({
    name: String(name),
    isOurs: String(name).startsWith(sqliteTriggerPrefix),
  }));
}

/** True if the log's triggers are the newest: SQLite runs these first, so the log is in order. */
function isInstalled(wanted: readonly SqliteTrigger[], found: readonly FoundTrigger[]): boolean {
  const last = found.slice(-wanted.length).map(({ name }) => name);
  return found.filter(({ isOurs }) => isOurs).length === wanted.length &&
    wanted.every(({ name }) => last.includes(name));
}

async function dropOurs(
  found: readonly FoundTrigger[],
  schema: "main" | "temp",
  connection: Connection,
): Promise<void> {
  for (const { name, isOurs } of found) {
    const text = `DROP TRIGGER ${schema}.${quoteIdentifier(name)}`;
    if (isOurs) await connection.query({ text, values: [] });
  }
}
