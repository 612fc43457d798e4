import type { Runtime } from "../runtime/runtime.ts";
import type { TableInfo } from "../schema/table_info.ts";
import { changeHints } from "./change_hints.ts";
import type { ChangeLog } from "./change_log.ts";
import type { SettledChanges } from "./changes_options.ts";
import type { Driver } from "./driver.ts";
import { postgresChangeLog } from "./postgres_change_log.ts";
import { setUpPostgresLog } from "./postgres_log_setup.ts";
import { sqliteChangeLog } from "./sqlite_change_log.ts";
import { setUpSqliteLog } from "./sqlite_log_setup.ts";

/** What a log is opened with. */
export interface OpenChangeLogOptions {
  readonly driver: Driver;
  /** What is recorded; their tables have to be there. */
  readonly tables: Iterable<TableInfo>;
  readonly changes: SettledChanges;
  readonly runtime: Pick<Runtime, "clock" | "random">;
}

/** Opens the log of a database, and sets up what of it is missing there or has changed. */
export async function openChangeLog(options: OpenChangeLogOptions): Promise<ChangeLog> {
  const { driver, changes, runtime } = options;
  const tables = new Set(options.tables);
  if (driver.dialect.engine === "sqlite") {
    await setUpSqliteLog(driver, [...tables], changes, runtime.random);
    const hints = changeHints(driver, runtime.clock);
    return await sqliteChangeLog({ driver, tables, changes, hints });
  }
  const described = await setUpPostgresLog(driver, [...tables], changes, runtime.random);
  const hints = changeHints(driver, runtime.clock);
  return await postgresChangeLog({ driver, tables: described, changes, hints });
}
