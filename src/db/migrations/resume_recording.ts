import type { Random } from "../../runtime/runtime.ts";
import { createTableInfo, plainColumn, type TableInfo } from "../../schema/table_info.ts";
import type { Connection } from "../driver.ts";
import type { MigrationsEngine, PausedTable } from "../engine/migrations_engine.ts";

/** The tables to record again after the statements. */
export interface PausedRecording {
  readonly recorded: readonly PausedTable[];
  readonly random: Random;
}

/** Records the remaining tables again after a migration. Their streams begin again. */
export async function resumeRecording(
  connection: Connection,
  { comparison, recording }: MigrationsEngine,
  { recorded, random }: PausedRecording,
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
