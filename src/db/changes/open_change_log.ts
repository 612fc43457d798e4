import type { Runtime } from "../../runtime/runtime.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import { changeHints } from "./change_hints.ts";
import type { ChangeLog } from "./change_log.ts";
import type { ResolvedChangesOptions } from "./changes_options.ts";
import type { Driver } from "../driver.ts";
import { postgresChangeLog } from "../../engines/postgres/changes/postgres_change_log.ts";
import { setUpChangeLog } from "./set_up_change_log.ts";
import { sqliteChangeLog } from "../../engines/sqlite/changes/sqlite_change_log.ts";
import { untrackedWriteDetector } from "../../engines/sqlite/changes/untracked_write_detector.ts";

/** The options for opening a change log. */
export interface OpenChangeLogOptions {
  readonly driver: Driver;
  /** The tables to record, which have to exist. */
  readonly tables: Iterable<TableInfo>;
  readonly changes: ResolvedChangesOptions;
  /** Called with the tables of which a Postgres hides rows, before changes since then are given. */
  readonly onSecured?: (tables: ReadonlySet<TableInfo>) => void;
  readonly runtime: Pick<Runtime, "clock" | "random" | "observe">;
}

/**
 * Opens the change log of a database of either engine, after setting up the parts of it that are
 * missing or have changed.
 */
export async function openChangeLog(options: OpenChangeLogOptions): Promise<ChangeLog> {
  const { driver, changes, onSecured = ignore, runtime } = options;
  const { clock, random, observe } = runtime;
  const tables = new Set(options.tables);
  const setup = { driver, tables: [...tables], changes, random };
  const { described, untracked } = await setUpChangeLog(setup);
  if (untracked.length > 0) {
    observe({ kind: "notice", message: untrackedNotice(driver, untracked) });
  }
  const findUntracked = driver.dialect.engine === "sqlite" && driver.isShared
    ? await untrackedWriteDetector(driver, untracked)
    : null;
  const hints = changeHints(driver, clock, findUntracked);
  return driver.dialect.engine === "sqlite"
    ? await sqliteChangeLog({ driver, tables, changes, hints, random })
    : await postgresChangeLog({ driver, tables: described, changes, hints, random, onSecured });
}

const ignore = () => {};

/** What streams do not see of tables without triggers. */
function untrackedNotice({ label, dialect }: Driver, untracked: readonly TableInfo[]): string {
  const names = untracked.map(({ name }) => `"${name}"`).join(", ");
  const consequence = dialect.engine === "sqlite"
    ? "at each write of another program, streams start again"
    : "streams do not see what other programs, custom routes and triggers write";
  return `of ${names} in ${label} only the writes of this service are recorded: ${consequence}; ` +
    'a configuration with changes: { mode: "triggers" }, trackMutations(), or --triggers records ' +
    "everything";
}
