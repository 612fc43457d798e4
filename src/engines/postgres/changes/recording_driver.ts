import type { ColumnInfo } from "../../../schema/table_info.ts";
import type { Driver } from "../../../db/driver.ts";
import type { PostgresLogTable } from "./set_up_postgres_log.ts";
import { WriteRecorder } from "./write_recorder.ts";

/**
 * Returns a Postgres driver that records its own writes, for databases without triggers. For a
 * statement that was compiled from a plan, the driver records every changed row. For any other
 * write to a recorded table, the driver only records that the table has changed.
 */
export function recordingDriver(
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
    renewConnections: () => driver.renewConnections?.(),
    close: () => driver.close(),
  };
}
