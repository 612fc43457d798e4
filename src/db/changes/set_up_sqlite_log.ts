import type { Random } from "../../runtime/runtime.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import { quoteIdentifier, type SqlValue } from "../../sql/fragment.ts";
import {
  sqliteLogTables,
  type SqliteTrigger,
  sqliteTriggerPrefix,
  sqliteTriggers,
} from "../../sql/sqlite/change_log_schema.ts";
import type { ResolvedChangesOptions } from "./changes_options.ts";
import { describeRecordedTable } from "../sqlite/describe_recorded_table.ts";
import type { Connection, Driver } from "../driver.ts";

/**
 * Makes sure that the log is there and that the tables are recorded, all or nothing. Gives those of
 * which only what this process writes is recorded.
 */
export function setUpSqliteLog(
  driver: Driver,
  tables: readonly TableInfo[],
  changes: Pick<ResolvedChangesOptions, "mode" | "exclude">,
  random: Random,
): Promise<readonly TableInfo[]> {
  return driver.transaction(async (connection) => {
    await createLog(connection, random);
    const untracked: TableInfo[] = [];
    for (const table of tables) {
      if (await watch(table, changes, connection) === "temporary") untracked.push(table);
    }
    return untracked;
  });
}

async function createLog(connection: Connection, random: Random): Promise<void> {
  const known = await read(
    connection,
    `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '_service_changes'`,
  );
  for (const text of sqliteLogTables) await connection.query({ text, values: [] });
  const [secret] = await read(
    connection,
    `SELECT value FROM "_service_meta" WHERE name = 'secret'`,
  );
  if (known.length > 0 && secret !== undefined) return;
  // Numbers begin anew: a token of an earlier log must not be taken for one of this.
  await connection.query({
    text:
      `INSERT INTO "_service_meta" (name, value) VALUES ('epoch', ?), ('secret', ?), ('floor', '0')
      ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    values: [random.bytes(8).toHex(), random.bytes(16).toHex()],
  });
}

/**
 * The names of triggers say what they record, so that those of another version of the table, or of
 * this program, are known and replaced. Tells how long they last.
 */
async function watch(
  table: TableInfo,
  { mode, exclude }: Pick<ResolvedChangesOptions, "mode" | "exclude">,
  connection: Connection,
): Promise<"permanent" | "temporary"> {
  const watched = await describeRecordedTable(table, exclude, connection);
  const permanent = sqliteTriggers(watched, "permanent");
  const schema = mode === "triggers" ? "main" : "temp";
  const wanted = mode === "triggers" ? permanent : sqliteTriggers(watched, "temporary");
  const inFile = await triggersOf(watched.name, "main", connection);
  const isCurrent = stands(permanent, inFile);
  if (isCurrent) return "permanent";
  await drop(inFile, "main", connection);
  if (schema === "temp") {
    const own = await triggersOf(watched.name, "temp", connection);
    if (stands(wanted, own)) return "temporary";
    await drop(own, "temp", connection);
  }
  // Notes of other triggers may be void: rows may have changed while there were none.
  await connection.query({
    text: `DELETE FROM "_service_replaced" WHERE "table" = ?`,
    values: [watched.name],
  });
  for (const { text } of wanted) await connection.query({ text, values: [] });
  return schema === "temp" ? "temporary" : "permanent";
}

interface FoundTrigger {
  readonly name: string;
  readonly isOurs: boolean;
}

/** In the order in which they were created. */
async function triggersOf(
  table: string,
  schema: "main" | "temp",
  connection: Connection,
): Promise<readonly FoundTrigger[]> {
  const rows = await read(
    connection,
    `SELECT name FROM ${schema}.sqlite_schema
     WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE ORDER BY rowid`,
    table,
  );
  return rows.map(([name]) => ({
    name: String(name),
    isOurs: String(name).startsWith(sqliteTriggerPrefix),
  }));
}

/**
 * SQLite runs the trigger first that was created last. Ours has to be the first: another one may
 * change the row again, and that change must come behind this one in the log.
 */
function stands(wanted: readonly SqliteTrigger[], found: readonly FoundTrigger[]): boolean {
  const last = found.slice(-wanted.length).map(({ name }) => name);
  return found.filter(({ isOurs }) => isOurs).length === wanted.length &&
    wanted.every(({ name }) => last.includes(name));
}

async function drop(
  found: readonly FoundTrigger[],
  schema: "main" | "temp",
  connection: Connection,
): Promise<void> {
  for (const { name, isOurs } of found) {
    const text = `DROP TRIGGER ${schema}.${quoteIdentifier(name)}`;
    if (isOurs) await connection.query({ text, values: [] });
  }
}

async function read(
  connection: Connection,
  text: string,
  ...values: readonly SqlValue[]
): Promise<readonly (readonly SqlValue[])[]> {
  return (await connection.query({ text, values })).rows;
}
