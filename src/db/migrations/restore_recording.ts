import { hexToBytes } from "../../protocol/byte_text.ts";
import type { Random } from "../../runtime/runtime.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import { postgresTriggerName, sqlName } from "../../engines/postgres/sql/change_log_schema.ts";
import { sqliteTriggerPrefix } from "../../engines/sqlite/sql/change_log_schema.ts";
import { sqliteLiteral, valuesOf } from "../../engines/sqlite/sql/image_json.ts";
import { recordGap, recordOnServer } from "../../engines/postgres/changes/set_up_postgres_log.ts";
import { recordInFile } from "../../engines/sqlite/changes/set_up_sqlite_log.ts";
import type { Connection, Driver } from "../driver.ts";
import { selectNamed } from "../named_columns.ts";
import type { PairedTable } from "./compare/compare_tables.ts";
import type { Difference } from "./compare/difference.ts";
import { isSameName } from "./compare/table_shape.ts";

/** A table whose changes are recorded, and the columns that are left out of that. */
export interface TriggeredRecording {
  readonly table: TableInfo;
  readonly hidden: readonly ColumnInfo[];
  readonly mode: "triggers" | "service";
}

/** Reads which of the tables are recorded by triggers, before anything is changed. */
export async function readRecording(
  connection: Connection,
  dialect: Dialect,
  pairs: readonly PairedTable[],
): Promise<readonly TriggeredRecording[]> {
  const found: TriggeredRecording[] = [];
  for (const pair of pairs) {
    const recording = dialect.engine === "sqlite"
      ? await recordingInFile(connection, pair)
      : await recordingOnServer(connection, pair);
    if (recording !== null) found.push(recording);
  }
  return found;
}

async function recordingInFile(
  connection: Connection,
  pair: PairedTable,
): Promise<TriggeredRecording | null> {
  const [trigger] = await selectNamed(
    connection,
    { sql: "sql", isTemporary: "temporary" },
    `FROM (SELECT sql, name, tbl_name, 0 AS temporary FROM main.sqlite_schema
       UNION ALL SELECT sql, name, tbl_name, 1 FROM temp.sqlite_schema)
     WHERE name LIKE ? ESCAPE '~' AND tbl_name = ? COLLATE NOCASE`,
    `${sqliteTriggerPrefix.replaceAll("_", "~_")}%~_insert`,
    pair.existing.name,
  );
  if (trigger === undefined) return null;
  const hidden = hiddenInTrigger(String(trigger.sql), pair.existing.columns);
  return recordingOf(pair, hidden, Number(trigger.isTemporary) === 1 ? "service" : "triggers");
}

/** The columns that the trigger for new rows of a SQLite table leaves out. */
export function hiddenInTrigger(
  trigger: string,
  columns: readonly { readonly name: string }[],
): readonly string[] {
  const valueOf = valuesOf("NEW");
  return columns.flatMap(({ name }) =>
    trigger.includes(`${sqliteLiteral(name)}, CASE typeof(${valueOf(name)})`) ? [] : [name]
  );
}

/** The trigger has the name of the table as its first argument, and what it leaves out after it. */
async function recordingOnServer(
  connection: Connection,
  pair: PairedTable,
): Promise<TriggeredRecording | null> {
  const [trigger] = await selectNamed(
    connection,
    { args: "encode(tgargs, 'hex')" },
    "FROM pg_trigger WHERE tgrelid = to_regclass($1) AND tgname = $2",
    sqlName(pair.existing),
    postgresTriggerName,
  );
  if (trigger === undefined) return null;
  const text = new TextDecoder().decode(hexToBytes(String(trigger.args)));
  return recordingOf(pair, text.split("\0").slice(1, -1), "triggers");
}

function recordingOf(
  { table, columns }: PairedTable,
  hidden: readonly string[],
  mode: TriggeredRecording["mode"],
): TriggeredRecording {
  const isHidden = ({ dbName }: ColumnInfo) => {
    const before = columns.renamed.get(dbName) ?? dbName;
    return hidden.some((name) => isSameName(name, before));
  };
  return { table, hidden: table.columns.filter(isHidden), mode };
}

/** What is restored after the statements of a migration. */
export interface RecordedTables {
  readonly recording: readonly TriggeredRecording[];
  readonly differences: readonly Difference[];
}

/**
 * Records the tables again as they were, by triggers that fit their columns. The rows before and
 * after have other members, so that streams of tables with changed columns begin again.
 */
export async function restoreRecording(
  connection: Connection,
  { driver: { dialect }, random }: { readonly driver: Driver; readonly random: Random },
  { recording, differences }: RecordedTables,
): Promise<void> {
  for (const { table, hidden, mode } of recording) {
    const changes = { mode, schema: null, exclude: new Set(hidden) };
    if (dialect.engine === "sqlite") {
      await recordInFile(connection, [table], changes, random);
      continue;
    }
    const described = await recordOnServer(connection, [table], changes, random);
    const isOther = differences.some((one) =>
      one.table === table.label && changesRows.has(one.kind)
    );
    if (isOther) { for (const one of described) await recordGap(one, connection); }
  }
}

const changesRows: ReadonlySet<Difference["kind"]> = new Set([
  ...["renamed-table", "missing-column", "renamed-column", "superfluous-column"] as const,
  ...["type", "members", "generated", "key"] as const,
]);
