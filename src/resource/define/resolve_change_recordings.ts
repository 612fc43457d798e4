import {
  type ChangesOptions,
  resolveChangesOptions,
  type ResolvedChangesOptions,
} from "../../db/changes/changes_options.ts";
import type { Driver } from "../../db/driver.ts";
import { openRecordingDriver } from "../../db/changes/open_change_log.ts";
import type { Random } from "../../runtime/runtime.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import { requireTableInfo, type ResourceDefinition } from "./resource_definition.ts";
import { isSubscribable } from "./subscribable.ts";

export interface ChangeRecording {
  readonly driver: Driver;
  readonly changes: ResolvedChangesOptions;
}

/**
 * Returns the databases with a subscribable resource or a history. The default `mode` is `triggers`
 * only for a database in which the service has created all served tables.
 */
export async function resolveChangeRecordings(
  { resources, db }: {
    readonly resources: readonly ResourceDefinition[];
    readonly db: { readonly driver: Driver };
  },
  options: ChangesOptions,
  random: Random,
): Promise<ReadonlyMap<Driver, ChangeRecording>> {
  const recordings = new Map<Driver, ChangeRecording>();
  const driverOf = ({ options }: ResourceDefinition) => (options.db ?? db).driver;
  for (const [driver, served] of Map.groupBy(resources, driverOf)) {
    const isOpen = ({ table, options }: ResourceDefinition) =>
      options.history !== undefined || isSubscribable(options, requireTableInfo(table));
    if (!served.some(isOpen)) continue;
    const isRecordable = ({ recordable }: TableInfo) => recordable;
    const own = served.map(({ table }) => requireTableInfo(table)).filter(isRecordable);
    const mode = own.every(({ own }) => own) ? "triggers" : "service";
    // Streams need the changes of link tables, even of a link table that no resource serves.
    const tables = [...new Set([...own, ...served.flatMap(linksOf).filter(isRecordable)])];
    const changes = {
      ...resolveChangesOptions({ ...options, mode: options.mode ?? mode }),
      history: new Map(served.flatMap(({ table, options: { history } }) =>
        // The default of `retentionMs` is already applied.
        history?.retentionMs === undefined
          ? []
          : [[requireTableInfo(table), history.retentionMs] as const]
      )),
    };
    const writeBy = changes.mode === "triggers"
      ? driver
      : await openRecordingDriver({ driver, tables, changes, random });
    recordings.set(driver, { driver: writeBy, changes });
  }
  return recordings;
}

function linksOf({ options }: ResourceDefinition): readonly TableInfo[] {
  return Object.values(options.relations ?? {}).flatMap(({ through }) =>
    through === undefined ? [] : requireTableInfo(through)
  );
}
