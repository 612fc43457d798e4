import { hexToBytes } from "../../protocol/byte_text.ts";
import type { Random } from "../../runtime/runtime.ts";
import { createTableInfo, plainColumn, type TableInfo } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import { quoteIdentifier } from "../../sql/fragment.ts";
import { postgresTriggerName } from "../../engines/postgres/sql/change_log_schema.ts";
import { sqliteTriggerPrefix } from "../../engines/sqlite/sql/change_log_schema.ts";
import { recordGap, recordOnServer } from "../../engines/postgres/changes/set_up_postgres_log.ts";
import { recordInFile } from "../../engines/sqlite/changes/set_up_sqlite_log.ts";
import type { Connection } from "../driver.ts";
import { selectNamed } from "../named_columns.ts";
import { existingShapes } from "./compare/existing_shapes.ts";
import type { TableName } from "./compare/table_shape.ts";
import { hiddenInTrigger } from "./restore_recording.ts";

/** A table whose changes were recorded by triggers. */
export interface PausedTable extends TableName {
  /** The columns that were left out. */
  readonly hidden: readonly string[];
}

/**
 * Takes the triggers of the change log from all tables, so that any statement can change them: SQLite
 * refuses to drop a column that a trigger names. Gives what was recorded.
 */
export function pauseRecording(
  connection: Connection,
  dialect: Dialect,
): Promise<readonly PausedTable[]> {
  return dialect.engine === "sqlite" ? pauseInFile(connection) : readOnServer(connection);
}

async function pauseInFile(connection: Connection): Promise<readonly PausedTable[]> {
  const triggers = await selectNamed(
    connection,
    { name: "name", table: "tbl_name", sql: "sql" },
    "FROM main.sqlite_schema WHERE type = 'trigger' AND substr(name, 1, ?) = ?",
    sqliteTriggerPrefix.length,
    sqliteTriggerPrefix,
  );
  const inserts = triggers.filter(({ name }) => /_[0-9a-f]{16}_insert$/.test(String(name)));
  const names = inserts.map(({ table }) => ({ schema: null, name: String(table) }));
  const { tables } = await existingShapes(connection, { engine: "sqlite" }, names);
  for (const { name } of triggers) {
    const text = `DROP TRIGGER main.${quoteIdentifier(String(name))}`;
    await connection.query({ text, values: [] });
  }
  return tables.map(({ schema, name, columns }) => {
    const sql = String(inserts.find(({ table }) => table === name)?.sql);
    return { schema, name, hidden: hiddenInTrigger(sql, columns) };
  });
}

/** A trigger of Postgres names no column but those that it leaves out, and stays. */
async function readOnServer(connection: Connection): Promise<readonly PausedTable[]> {
  const rows = await selectNamed(
    connection,
    {
      name: "c.relname",
      schema: "CASE WHEN n.nspname <> current_schema() THEN n.nspname END",
      args: "encode(t.tgargs, 'hex')",
    },
    `FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     JOIN pg_namespace n ON n.oid = c.relnamespace WHERE t.tgname = $1 AND t.tgparentid = 0`,
    postgresTriggerName,
  );
  return rows.map(({ name, schema, args }) => ({
    name: String(name),
    schema: schema === null ? null : String(schema),
    hidden: new TextDecoder().decode(hexToBytes(String(args))).split("\0").slice(1, -1),
  }));
}

/** What a recording needs to be resumed. */
export interface PausedRecording {
  readonly recorded: readonly PausedTable[];
  readonly random: Random;
}

/** Records the tables again that are still there. Their streams begin again. */
export async function resumeRecording(
  connection: Connection,
  dialect: Dialect,
  { recorded, random }: PausedRecording,
): Promise<void> {
  // A table that was renamed keeps its triggers on Postgres.
  const named = dialect.engine === "sqlite" ? recorded : await readOnServer(connection);
  const { tables } = await existingShapes(connection, dialect, named);
  for (const { schema, name, columns, key } of tables) {
    const { hidden = [] } = named.find((one) => one.name === name && one.schema === schema) ?? {};
    const described = columns.map((column) => ({
      ...{ ...plainColumn, name: column.name, dbName: column.name, kind: "text" as const },
      primaryKey: key.includes(column.name),
    }));
    const table: TableInfo = createTableInfo({
      ...{ name, schema, columns: described, foreignKeys: [], own: true },
    });
    const exclude = new Set(described.filter(({ dbName }) => hidden.includes(dbName)));
    const changes = { mode: "triggers" as const, schema: null, exclude };
    if (dialect.engine === "sqlite") await recordInFile(connection, [table], changes, random);
    else {
      for (const one of await recordOnServer(connection, [table], changes, random)) {
        await recordGap(one, connection);
      }
    }
  }
}
