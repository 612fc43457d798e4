import type { Random } from "../../runtime/runtime.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { ResolvedChangesOptions } from "./changes_options.ts";
import type { Driver } from "../driver.ts";
import {
  type PostgresLogTable,
  setUpPostgresLog,
} from "../../engines/postgres/changes/set_up_postgres_log.ts";
import { setUpSqliteLog } from "../../engines/sqlite/changes/set_up_sqlite_log.ts";

/** The input for setting up a change log: the tables that it has to record, on either engine. */
export interface ChangeLogSetup {
  readonly driver: Driver;
  /** The tables to record, which have to exist. */
  readonly tables: readonly TableInfo[];
  readonly changes: Pick<ResolvedChangesOptions, "mode" | "schema" | "exclude">;
  readonly random: Random;
}

/** The result of setting up a change log: what it records from then on. */
export interface ChangeLogSetupResult {
  /** The tables as a Postgres has them; empty for a SQLite file. */
  readonly described: readonly PostgresLogTable[];
  /** The tables of which only the writes of this service are recorded. */
  readonly untracked: readonly TableInfo[];
}

/** Sets up the parts of the change log that are missing or have changed, on either engine. */
export async function setUpChangeLog(setup: ChangeLogSetup): Promise<ChangeLogSetupResult> {
  const { driver, tables, changes, random } = setup;
  if (driver.dialect.engine === "postgres") {
    const described = await setUpPostgresLog(driver, tables, changes, random);
    const untracked = described.filter(({ isWatched }) => !isWatched).map(({ table }) => table);
    return { described, untracked };
  }
  return { described: [], untracked: await setUpSqliteLog(driver, tables, changes, random) };
}
