import type { Random } from "../runtime/runtime.ts";
import type { TableInfo } from "../schema/table_info.ts";
import type { SettledChanges } from "./changes_options.ts";
import type { Driver } from "./driver.ts";
import { type PostgresLogTable, setUpPostgresLog } from "./postgres_log_setup.ts";
import { setUpSqliteLog } from "./sqlite_log_setup.ts";

/** What of a log has to be there. */
export interface ChangeLogSetup {
  readonly driver: Driver;
  /** What is to be recorded; their tables have to be there. */
  readonly tables: readonly TableInfo[];
  readonly changes: Pick<SettledChanges, "mode" | "exclude">;
  readonly random: Random;
}

/**
 * Sets up what is missing of the log, or has changed. Gives the tables as a Postgres knows them;
 * there are none of those in a SQLite file.
 */
export async function setUpChangeLog(setup: ChangeLogSetup): Promise<readonly PostgresLogTable[]> {
  const { driver, tables, changes, random } = setup;
  if (driver.dialect.engine === "postgres") {
    return await setUpPostgresLog(driver, tables, changes, random);
  }
  await setUpSqliteLog(driver, tables, changes, random);
  return [];
}
