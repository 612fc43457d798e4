import type { Runtime } from "../runtime/runtime.ts";
import type { TableInfo } from "../schema/table_info.ts";
import { changeHints } from "./change_hints.ts";
import type { ChangeLog } from "./change_log.ts";
import type { SettledChanges } from "./changes_options.ts";
import type { Driver } from "./driver.ts";
import { postgresChangeLog } from "./postgres_change_log.ts";
import { setUpChangeLog } from "./set_up_change_log.ts";
import { sqliteChangeLog } from "./sqlite_change_log.ts";

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
  const { driver, changes, runtime: { clock, random } } = options;
  const tables = new Set(options.tables);
  const described = await setUpChangeLog({ driver, tables: [...tables], changes, random });
  const hints = changeHints(driver, clock);
  return driver.dialect.engine === "sqlite"
    ? await sqliteChangeLog({ driver, tables, changes, hints })
    : await postgresChangeLog({ driver, tables: described, changes, hints, random });
}
