import type { Runtime } from "../../runtime/runtime.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import { changeHints } from "./change_hints.ts";
import type { ChangeLog } from "./change_log.ts";
import type { ResolvedChangesOptions } from "./changes_options.ts";
import type { Driver } from "../driver.ts";
import { type ChangeLogSetup, engineOf } from "../engine/engine.ts";

export interface OpenChangeLogOptions {
  readonly driver: Driver;
  readonly tables: Iterable<TableInfo>;
  readonly changes: ResolvedChangesOptions;
  /** Called when the set of tables whose row policies hide rows has changed, with the new set. */
  readonly onSecured?: (tables: ReadonlySet<TableInfo>) => void;
  readonly runtime: Pick<Runtime, "clock" | "random" | "observe">;
}

export async function openChangeLog(options: OpenChangeLogOptions): Promise<ChangeLog> {
  const { driver, changes, onSecured = ignore, runtime: { clock, random, observe } } = options;
  const tables = [...new Set(options.tables)];
  const source = await engineOf(driver).changes.setUp({ driver, tables, changes, random });
  if (source.untracked.length > 0) {
    observe({ kind: "notice", message: untrackedNotice(driver, source.untracked) });
  }
  const hints = changeHints(driver, clock, await source.findUntracked());
  return await source.open({ hints, changes, onSecured });
}

const ignore = () => {};

function untrackedNotice(driver: Driver, untracked: readonly TableInfo[]): string {
  const names = untracked.map(({ name }) => `"${name}"`).join(", ");
  const consequence = engineOf(driver).changes.untrackedConsequence;
  return `of ${names} in ${driver.label} only the writes of this service are recorded: ${consequence}; ` +
    'a configuration with changes: { mode: "triggers" }, trackMutations(), or --triggers records ' +
    "everything";
}

/** Returns a driver that records its writes if no trigger records them. */
export async function openRecordingDriver(setup: ChangeLogSetup): Promise<Driver> {
  return (await engineOf(setup.driver).changes.setUp(setup)).recordingDriver();
}
