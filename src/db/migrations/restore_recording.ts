import { isSameName } from "../../sql/fragment.ts";
import type { Random } from "../../runtime/runtime.ts";
import {
  type ColumnInfo,
  createTableInfo,
  plainColumn,
  type TableInfo,
} from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import type { Connection, Driver } from "../driver.ts";
import { engineOf } from "../engine/engine.ts";
import type {
  ExistingRecording,
  MigrationsEngine,
  PausedTable,
} from "../engine/migrations_engine.ts";
import type { PairedTable } from "./compare/compare_tables.ts";
import type { Difference } from "./compare/difference.ts";

export interface TriggeredRecording {
  readonly table: TableInfo;
  readonly hidden: readonly ColumnInfo[];
  readonly mode: "triggers" | "service";
}

export async function readTriggeredRecordings(
  connection: Connection,
  dialect: Dialect,
  pairs: readonly PairedTable[],
): Promise<readonly TriggeredRecording[]> {
  const found: TriggeredRecording[] = [];
  const { recording } = await engineOf({ dialect }).migrations();
  for (const pair of pairs) {
    const existing = await recording.of(connection, pair.existing);
    if (existing !== null) found.push(recordingOf(pair, existing));
  }
  return found;
}

function recordingOf(
  { table, columns }: PairedTable,
  { hidden, mode }: ExistingRecording,
): TriggeredRecording {
  const isHidden = ({ dbName }: ColumnInfo) => {
    const before = columns.renamed.get(dbName) ?? dbName;
    return hidden.some((name) => isSameName(name, before));
  };
  return { table, hidden: table.columns.filter(isHidden), mode };
}

/** Creates the triggers again. If a table's columns have changed, its change streams start over. */
export async function restoreRecording(
  connection: Connection,
  { driver: { dialect }, random }: { readonly driver: Driver; readonly random: Random },
  { recording, differences }: {
    readonly recording: readonly TriggeredRecording[];
    readonly differences: readonly Difference[];
  },
): Promise<void> {
  const engine = (await engineOf({ dialect }).migrations()).recording;
  for (const { table, hidden, mode } of recording) {
    const changes = { mode, schema: null, exclude: new Set(hidden) };
    const startsAgain = differences.some((one) =>
      one.table === table.label && changesRows.has(one.kind)
    );
    await engine.record(connection, table, { changes, random, startsAgain });
  }
}

const changesRows: ReadonlySet<Difference["kind"]> = new Set([
  ...["renamed-table", "missing-column", "renamed-column", "superfluous-column"] as const,
  ...["type", "members", "generated", "key"] as const,
]);

/** Resumes recording after a migration, for tables that still exist. Their streams start over. */
export async function resumeRecording(
  connection: Connection,
  { comparison, recording }: MigrationsEngine,
  { recorded, random }: { readonly recorded: readonly PausedTable[]; readonly random: Random },
): Promise<void> {
  const named = await recording.resumed(connection, recorded);
  const { tables } = await comparison.shapes(connection, named);
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
    await recording.record(connection, table, { changes, random, startsAgain: true });
  }
}
