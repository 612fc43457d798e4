import type { ColumnInfo } from "../../../schema/table_info.ts";
import type { Driver } from "../../../db/driver.ts";
import { type ChangeLogSetup, setUpChangeLog } from "../../../db/changes/set_up_change_log.ts";
import type { PostgresLogTable } from "./set_up_postgres_log.ts";
import { WriteRecorder } from "./write_recorder.ts";

/**
 * Sets the change log up and gives the driver to write by: one that records its own writes where no
 * trigger does, or the driver as it is.
 */
export async function openRecordingDriver(setup: ChangeLogSetup): Promise<Driver> {
  const { driver, changes } = setup;
  const { described } = await setUpChangeLog(setup);
  // Tables with a trigger are recorded by that; those of SQLite have a temporary one.
  const unwatched = described.filter(({ isWatched }) => !isWatched);
  return changes.mode === "service" && unwatched.length > 0
    ? recordingDriver(driver, unwatched, changes.exclude)
    : driver;
}

/**
 * A Postgres driver whose own writes record themselves, where no trigger may be installed. A
 * statement that was compiled from a plan is recorded row by row. Of any other that writes to a
 * recorded table the log says that something was changed there, and not what.
 */
function recordingDriver(
  driver: Driver,
  tables: readonly PostgresLogTable[],
  exclude: ReadonlySet<ColumnInfo>,
): Driver {
  const recorder = new WriteRecorder(driver, tables, exclude);
  return {
    dialect: driver.dialect,
    label: driver.label,
    isShared: driver.isShared,
    signals: driver.signals,
    created: driver.created,
    async query(statement) {
      const writes = await recorder.writesOf(statement, driver);
      return writes === null
        ? await driver.query(statement)
        : await driver.transaction((connection) => recorder.run(writes, connection));
    },
    reads: (limits) => driver.reads(limits),
    transaction: (work) =>
      driver.transaction((connection) =>
        work({
          async query(statement) {
            const writes = await recorder.writesOf(statement, connection);
            return writes === null
              ? await connection.query(statement)
              : await recorder.run(writes, connection);
          },
        })
      ),
    onCommit: (listener) => driver.onCommit(listener),
    close: () => driver.close(),
  };
}
